/* SPDX-License-Identifier: MIT */
/*
 * /dev/ringside of a Linux guest, by which its kernel module gives a region of memory to a program
 * (docs/linux-module.md). The program opens it for reading and writing, reads one struct
 * rs_device_region, and maps the file: [0, guest_offset) can only be mapped read-only, and the rest
 * as the program likes, always shared. Nothing else can be mapped.
 *
 * Reading takes a region and waits up to half a second for one. Then it fails:
 *     ENODEV   there is no memory (yet), or no directory in it
 *     EUSERS   all regions are taken; this is counted in the directory
 *     EDQUOT   the user has taken all that one user may have; likewise
 *     EEXIST   this program has a region already
 *     EPROTO   the directory is of another ABI version
 *     EBADMSG  it is damaged
 *
 * The region is the program's until the file and all its mappings are gone, however that comes
 * about. A child of fork shares the mapping, and cannot map anew. A program that is executed has
 * none. If the memory goes away, or the host lays it out anew, the mapping stays and reads as 0.
 *
 * Who opened the file without CAP_SYS_RESOURCE may have three quarters of all regions, and one at
 * least. Users of a user namespace are counted for who has made it.
 */
#ifndef RINGSIDE_DEVICE_H
#define RINGSIDE_DEVICE_H

#include <ringside/types.h>

#define RS_DEVICE_PATH "/dev/ringside"

struct rs_device_region {
	uint64_t size;         /* bytes that can be mapped; whole pages */
	uint64_t guest_offset; /* bytes from 0 on that are the host's; whole pages */
	uint32_t index;        /* of its entry in the directory */
	uint32_t owner;        /* of the claim: the process id, as the kernel has it */
	uint64_t reserved[5];
};
RS_ASSERT_SIZE(struct rs_device_region, 64);

#endif
