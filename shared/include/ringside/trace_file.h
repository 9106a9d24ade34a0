/* SPDX-License-Identifier: MIT */
/*
 * A trace file: ring pages, and all that their records refer to, in the order in which a recorder
 * learned it. docs/adr/0017-trace-files.md says why it looks like this, and docs/file-format.md how
 * to read one.
 *
 *     struct rs_file_header, header_size bytes
 *     blocks, one behind the other, each of `size` bytes
 *
 * Everything is little-endian, and every block begins at a multiple of 8 bytes. Structs grow as
 * grow.h says: each block holds the sizes of its structs. A reader skips a block whose kind it does
 * not know. A file may end anywhere: what lies before the first incomplete block counts. A file
 * that was closed ends with a block RS_FILE_END.
 */
#ifndef RINGSIDE_TRACE_FILE_H
#define RINGSIDE_TRACE_FILE_H

#include <ringside/grow.h>

#define RS_FILE_MAGIC 0x0a45434152545352ull /* "RSTRACE\n" */
#define RS_FILE_ALIGN 8u

struct rs_file_header {
	uint64_t magic;     /* RS_FILE_MAGIC */
	uint16_t abi_major; /* of the pages and structs: RS_ABI_* */
	uint16_t abi_minor;
	uint32_t header_size;  /* bytes to the first block, multiple of RS_FILE_ALIGN */
	uint64_t features;     /* none defined in 1.0; see RS_FEATURES_REQUIRED */
	uint64_t origin_ns;    /* host's CLOCK_MONOTONIC where trace times are 0 */
	uint64_t wall_ns;      /* host's CLOCK_REALTIME at that moment; 0: unknown */
	uint8_t host_boot[16]; /* the boot of the host to which origin_ns belongs; 0: unknown */
	uint32_t id;           /* random; each block has the same */
	uint32_t reserved0;
	uint64_t reserved1[8];
};
RS_ASSERT_SIZE(struct rs_file_header, 128);
#define RS_FILE_HEADER_MIN_SIZE 128u
RS_ASSERT_GROWS(struct rs_file_header, RS_FILE_HEADER_MIN_SIZE);

/*
 * A block has a head, which begins with this struct, and may have data behind it. Its check covers
 * the head alone, so that one can go from head to head. The head has the checks of what is behind.
 */
struct rs_file_block {
	uint32_t magic;     /* RS_FILE_BLOCK_MAGIC */
	uint32_t id;        /* rs_file_header.id: no leftover of another file */
	uint32_t size;      /* bytes of the whole block, multiple of RS_FILE_ALIGN */
	uint32_t head_size; /* bytes of the head, multiple of RS_FILE_ALIGN */
	uint32_t data_size; /* bytes of data, once decompressed */
	uint32_t crc;       /* CRC-32C of the head with this field 0 */
	uint16_t kind;      /* RS_FILE_* */
	uint16_t flags;     /* RS_FILE_ZSTD */
	uint32_t source;    /* number of the source that the block is about; 0 if of none */
};
RS_ASSERT_SIZE(struct rs_file_block, 32);
#define RS_FILE_BLOCK_MAGIC 0x4b4c4253u /* "SBLK" */
#define RS_FILE_BLOCK_MAX (64u << 20)   /* bytes of data */
#define RS_FILE_HEAD_MAX (8u << 20)     /* bytes of a head */
#define RS_FILE_PAGES_MAX (4u << 20)    /* bytes of pages in one block */
#define RS_FILE_DESCS_MAX (8u << 20)    /* bytes of descriptors in one block */

#define RS_FILE_ZSTD 1u /* flag: the data, pages, are one zstd frame */

/* ---- kinds, each with what follows struct rs_file_block in the head ---- */

/* A source joins. struct rs_file_source. A number is used again only after LEFT. */
#define RS_FILE_SOURCE 1u
/* It has ended: nothing more comes of it. */
#define RS_FILE_LEFT 2u
/* struct rs_file_table; rs_file_boot[]. arg: rate of the event clock in Hz, 0: unknown */
#define RS_FILE_BOOTS 3u
/*
 * struct rs_file_table, of one struct rs_provider; data: its descriptors (RS_SEC_EVENTS), empty if
 * they are as before. arg: its slot
 */
#define RS_FILE_PROVIDER 4u
/* struct rs_file_table; rs_clock_epoch[]. arg: epochs begun so far */
#define RS_FILE_CLOCK 5u
/* struct rs_file_table; rs_cmdline_entry[], those that have changed */
#define RS_FILE_NAMES 6u
/* At a source's end: struct rs_file_lost */
#define RS_FILE_LOST 7u
/* struct rs_file_table; rs_file_page[]; data: the pages, one behind the other. arg: 0 */
#define RS_FILE_PAGES 8u
/*
 * A window ends: struct rs_file_window. A record that is behind it was written after all records
 * that are before the window's start.
 */
#define RS_FILE_WINDOW 9u
/* struct rs_file_table; rs_file_place[]. arg: where the previous such block lies, 0: nowhere */
#define RS_FILE_INDEX 10u
/* The last block: struct rs_file_end */
#define RS_FILE_END 11u
/*
 * Names of addresses of the source: struct rs_file_table, of one struct rs_file_symbols; data: one
 * zstd frame, of rs_file_symbol[] and then the names. arg: 0
 */
#define RS_FILE_SYMBOLS 12u

/* Elements follow, `count` of `stride` bytes each. */
struct rs_file_table {
	uint64_t arg; /* by kind */
	uint32_t count;
	uint32_t stride; /* bytes from one element to the next */
	uint32_t crc;    /* CRC-32C of the data; 0: there are none, or they are pages */
	uint32_t reserved;
};
RS_ASSERT_SIZE(struct rs_file_table, 24);

struct rs_file_source {
	uint32_t size; /* of this struct */
	uint32_t ring_count;
	uint32_t ring_pages;     /* of each ring */
	uint32_t ring_page_size; /* bytes */
	uint32_t arch;           /* RS_ARCH_*, 0: RS_FILE_BOOTS may say it */
	uint32_t number;         /* of the source in its session, 1 …; 0: not known */
	uint64_t session_id;     /* rs_region_header.session_id */
	char name[64];           /* of the source in its session, NUL-padded */
	char kind[32];           /* what runs it ("kvm", "qemu", "hosted" …), NUL-padded */
	/* Of a process that joined: number of the source whose memory and pids it has; else 0 */
	uint32_t machine;
	uint32_t pid; /* process in which its agent runs, 0: a kernel's, or RS_FILE_BOOTS says it */
	uint64_t reserved1[3];
};
RS_ASSERT_SIZE(struct rs_file_source, 160);
#define RS_FILE_SOURCE_MIN_SIZE 160u
RS_ASSERT_GROWS(struct rs_file_source, RS_FILE_SOURCE_MIN_SIZE);

/* A boot, and what its agent said of itself. */
struct rs_file_boot {
	uint32_t boot; /* these three as in struct rs_boot */
	uint32_t chain;
	uint64_t ts;
	uint32_t arch; /* RS_ARCH_*, 0: not known */
	uint32_t pid;  /* process in which it runs; 0: a kernel's, or not known */
};
RS_ASSERT_SIZE(struct rs_file_boot, 24);
#define RS_FILE_BOOT_MIN_SIZE 16u

/*
 * A page from its header on, of which bytes [from, to) are new. Those before `from` came earlier,
 * and are there again for whoever begins to read here.
 */
struct rs_file_page {
	uint64_t lost; /* records lost between this and what came before of its ring */
	uint32_t at;   /* where it begins in data, multiple of RS_FILE_ALIGN */
	uint32_t from; /* bytes from the page's start */
	uint32_t to;
	uint32_t ring;
	uint32_t crc; /* CRC-32C of its bytes up to `to` */
	uint32_t reserved;
};
RS_ASSERT_SIZE(struct rs_file_page, 32);
#define RS_FILE_PAGE_MIN_SIZE 32u
RS_ASSERT_GROWS(struct rs_file_page, RS_FILE_PAGE_MIN_SIZE);

struct rs_file_lost {
	uint64_t lost; /* records lost after the last page of the ring */
	uint32_t ring;
	uint32_t reserved;
};
RS_ASSERT_SIZE(struct rs_file_lost, 16);

struct rs_file_window {
	uint64_t number;   /* 1, 2 … */
	uint64_t until_ns; /* no record before this block is later; trace time */
	uint64_t reserved[2];
};
RS_ASSERT_SIZE(struct rs_file_window, 32);
#define RS_FILE_WINDOW_BYTES (8u << 20) /* of pages: then a recorder ends the window */

/* A block that is not of pages. */
struct rs_file_place {
	uint64_t at;       /* from the file's start */
	uint64_t until_ns; /* of a window; else 0 */
	uint32_t kind;
	uint32_t source;
};
RS_ASSERT_SIZE(struct rs_file_place, 24);
#define RS_FILE_PLACE_MIN_SIZE 24u
RS_ASSERT_GROWS(struct rs_file_place, RS_FILE_PLACE_MIN_SIZE);

/*
 * Symbols of an image that lies at [from, to), from a moment on up to the end of that boot. Of the
 * images that hold an address at a record's moment, the one told last counts, and where it has no
 * symbol, the one told before. Where a reader has no room for them, it goes on without.
 */
struct rs_file_symbols {
	uint64_t from; /* addresses in the source */
	uint64_t to;
	uint32_t count;    /* of symbols */
	uint32_t unpacked; /* bytes of the data once decompressed */
	uint32_t build_id_size;
	uint32_t data_names;  /* where the names of data begin among the names; 0: there are none */
	uint8_t build_id[32]; /* of the image, build_id_size bytes; 0: not known */
	char name[64];        /* of the file that they are from, NUL-padded */
	uint32_t boot;        /* the moment; 0: it lies there always */
	uint32_t chain;       /* clock chain of `ts` */
	uint64_t ts;          /* event clock */
};
RS_ASSERT_SIZE(struct rs_file_symbols, 144);
#define RS_FILE_SYMBOLS_MIN_SIZE 144u
RS_ASSERT_GROWS(struct rs_file_symbols, RS_FILE_SYMBOLS_MIN_SIZE);
#define RS_FILE_SYMBOLS_MAX (16u << 20) /* bytes once decompressed */
#define RS_FILE_SYMBOL_NAME_MAX 1024u   /* bytes of a name; what is longer is cut */

/* By address. */
struct rs_file_symbol {
	uint64_t at;
	uint32_t size; /* bytes; 0: up to the next one, or to the image's end */
	/*
	 * Where its NUL-terminated name begins among the names. Behind that, of a module's:
	 * " [module]"
	 */
	uint32_t name;
};
RS_ASSERT_SIZE(struct rs_file_symbol, 16);

struct rs_file_end {
	uint64_t index; /* where the last index lies */
	uint64_t reserved[3];
};
RS_ASSERT_SIZE(struct rs_file_end, 32);
#define RS_FILE_END_SIZE 64u /* bytes of the block */

#endif
