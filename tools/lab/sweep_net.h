/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LAB_SWEEP_NET_H
#define WEFT_LAB_SWEEP_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * @file
 * Messages between the processes of one sweep that mpirun started, on one machine or many.
 *
 * Nothing but the module of sweep_mpi.c is linked with MPI, and it is loaded only where mpirun says
 * that it started us: weft-lab runs without MPI.
 */
struct net {
	int rank, nb_ranks; /**< 0 of 1 without mpirun; the rest is NULL then */
	uint32_t nb_here;   /**< ranks on this machine */
	/** Returns when bytes may be used again. */
	void (*send)(int to, const void *bytes, size_t len);
	/** A message that is there, with a 0 behind it, to be freed; NULL = none, or no memory. */
	char *(*recv)(int *from, size_t *len);
	/** Of all ranks, when no message is on its way. */
	void (*end)(void);
	/** Ends all ranks. */
	void (*abort)(int code);
};

/** Symbol of the module, a function of this type: open what there is, 0 or a negative errno. */
#define NET_MODULE_OPEN "lab_mpi_open"
typedef int (*net_module_open)(struct net *net);

/** @return 0, or -1 with why in one line: mpirun was there, and we cannot talk. */
int net_open(struct net *net, char *why, size_t size);

static inline bool
net_is_lead(const struct net *net)
{
	return net->rank == 0;
}

#endif
