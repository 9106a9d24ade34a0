/* SPDX-License-Identifier: MIT */
/* Finds the ivshmem device that carries the region, through configuration mechanism 1. */
#include "internal.h"

#define IVSHMEM 0x11101af4u
#define REG_COMMAND 0x04
#define REG_CLASS 0x08
#define REG_HEADER 0x0c
#define REG_BUSES 0x18
#define REG_BAR2 0x18
#define REG_BAR3 0x1c
#define COMMAND_MEMORY 2u
#define BAR_IO 1u
#define BAR_64 4u
#define BAR_MASK 0xfull
#define MAX_DEPTH 4 /* bridges on the way */

/* Where an unassigned BAR goes: below the APICs, far above what firmware hands out. */
#define OWN_WINDOW_END 0xfe000000u

static uint32_t address_of(uint32_t device, uint32_t offset)
{
	return 0x80000000u | device << 8 | offset;
}

static uint32_t config_read(uint32_t device, uint32_t offset)
{
	rs_out32(0xcf8, address_of(device, offset));
	return rs_in32(0xcfc);
}

static void config_write(uint32_t device, uint32_t offset, uint32_t value)
{
	rs_out32(0xcf8, address_of(device, offset));
	rs_out32(0xcfc, value);
}

/* Asks for the BAR's size, with the device switched off meanwhile. Assigns an address if needed. */
static bool read_bar2(uint32_t device, bool behind_bridge, struct rs_pci_bar *out)
{
	uint32_t command = config_read(device, REG_COMMAND);
	uint32_t low = config_read(device, REG_BAR2);
	bool wide = (low & 6) == BAR_64;
	uint32_t high = wide ? config_read(device, REG_BAR3) : 0;
	if (low & BAR_IO)
		return false;

	config_write(device, REG_COMMAND, command & ~COMMAND_MEMORY);
	config_write(device, REG_BAR2, 0xffffffffu);
	uint64_t mask = config_read(device, REG_BAR2) & ~BAR_MASK;
	if (wide) {
		config_write(device, REG_BAR3, 0xffffffffu);
		mask |= (uint64_t)config_read(device, REG_BAR3) << 32;
	} else {
		mask |= 0xffffffffull << 32;
	}
	out->size = ~mask + 1;
	out->address = (uint64_t)high << 32 | (low & ~(uint32_t)BAR_MASK);
	if (!out->address && !behind_bridge && out->size && out->size <= 0x10000000u)
		out->address = (OWN_WINDOW_END - out->size) & ~(out->size - 1);
	config_write(device, REG_BAR2, (uint32_t)out->address);
	if (wide)
		config_write(device, REG_BAR3, (uint32_t)(out->address >> 32));
	config_write(device, REG_COMMAND, command | COMMAND_MEMORY);
	return out->address && out->size;
}

static bool scan_bus(uint32_t bus, uint32_t depth, struct rs_pci_bar *out)
{
	for (uint32_t slot = 0; slot < 32; slot++) {
		for (uint32_t function = 0; function < 8; function++) {
			uint32_t device = bus << 8 | slot << 3 | function;
			uint32_t id = config_read(device, 0);
			if (id == 0xffffffffu) {
				if (function == 0)
					break;
				continue;
			}
			if (id == IVSHMEM && read_bar2(device, depth > 0, out))
				return true;
			uint32_t header = config_read(device, REG_HEADER) >> 16 & 0xff;
			if ((header & 0x7f) == 1 && depth < MAX_DEPTH) {
				uint32_t below = config_read(device, REG_BUSES) >> 8 & 0xff;
				if (below > bus && scan_bus(below, depth + 1, out))
					return true;
			}
			if (function == 0 && !(header & 0x80))
				break;
		}
	}
	return false;
}

bool rs_pci_find_ivshmem(struct rs_pci_bar *out)
{
	rs_out32(0xcf8, 0x80000000u);
	if (rs_in32(0xcf8) != 0x80000000u)
		return false; /* no PCI host here */
	return scan_bus(0, 0, out);
}
