/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CPU_H
#define WEFT_CPU_H

/**
 * @file
 * What a loop that waits may tell the CPU.
 */

/** This is a spin loop: give the other thread of the core its turn. Some 10 to 150 cycles. */
static inline void
cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

#endif
