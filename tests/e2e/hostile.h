/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_HOSTILE_H
#define WEFT_HOSTILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Programs that mean harm, and a neighbour that means none; each is a process of its own. */

/** Shared between them. */
struct board {
	atomic_bool stop;
	/* the neighbour */
	_Atomic uint64_t nb_bytes; /**< moved and compared */
	_Atomic uint64_t addr;     /**< of memory on weft0 that others may write, by its key */
	_Atomic uint32_t key;
	/* the hostile */
	_Atomic uint64_t nb_mutations; /**< shared words that were overwritten */
	_Atomic uint64_t nb_rounds;    /**< queues that were brought to work and spoilt */
	_Atomic uint64_t nb_guesses;   /**< keys tried on the neighbour's memory */
	_Atomic uint64_t nb_right;     /**< that did not fail */
	_Atomic uint64_t nb_requests;  /**< to the control socket */
	_Atomic uint64_t nb_granted;   /**< descriptors that should have been refused */
};
extern struct board *board;

/** They run until board->stop; seed decides what each does. Never return. */
_Noreturn void neighbour_run(void);
_Noreturn void scribbler_run(uint64_t seed);
_Noreturn void guesser_run(uint64_t seed);
_Noreturn void flooder_run(uint64_t seed);
_Noreturn void smuggler_run(uint64_t seed);

#endif
