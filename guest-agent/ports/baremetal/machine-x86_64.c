/* SPDX-License-Identifier: MIT */
/* What depends on the virtual machine: how many vCPUs it says it has, and how to end it. */
#include "internal.h"

#define FW_CFG_SELECT 0x510
#define FW_CFG_DATA 0x511
#define FW_CFG_SIGNATURE 0
#define FW_CFG_NB_CPUS 5

static void fw_cfg_read(uint16_t key, uint8_t *out, uint32_t size)
{
	rs_out16(FW_CFG_SELECT, key);
	for (uint32_t i = 0; i < size; i++)
		out[i] = rs_in8(FW_CFG_DATA);
}

bool rs_machine_is_qemu(void)
{
	static int32_t known = -1;
	if (known < 0) {
		uint8_t signature[4];
		fw_cfg_read(FW_CFG_SIGNATURE, signature, 4);
		known = memcmp(signature, "QEMU", 4) == 0;
	}
	return known;
}

uint32_t rs_machine_cpus(void)
{
	uint8_t count[2];
	if (!rs_machine_is_qemu())
		return 0;
	fw_cfg_read(FW_CFG_NB_CPUS, count, 2);
	return count[0] | (uint32_t)count[1] << 8;
}

void rs_machine_exit(uint32_t code)
{
	if (rs_machine_is_qemu()) {
		rs_out32(0x501, code);   /* isa-debug-exit, if there: QEMU ends with 2 * code + 1 */
		rs_out16(0x604, 0x2000); /* ACPI S5 on pc and q35 */
		rs_out16(0xb004, 0x2000); /* … and on older pc */
	}
	rs_reset();
}

void rs_reset(void)
{
	rs_out8(0xcf9, 0x02);
	rs_out8(0xcf9, 0x06);
	rs_out8(0x64, 0xfe);
	for (uint64_t start = rs_tsc(); rs_tsc() - start < 100000000ull;)
		rs_pause();
	rs_triple_fault();
}
