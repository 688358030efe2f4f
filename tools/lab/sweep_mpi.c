/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The module that is linked with MPI, see sweep_net.h. Messages are asked for and not waited for:
 * what waits in MPI takes a whole core, which the cells need.
 */
#include <errno.h>
#include <mpi.h>
#include <stdlib.h>

#include "sweep_net.h"

#define TAG 1

int lab_mpi_open(struct net *net);

static void
mpi_send(int to, const void *bytes, size_t len)
{
	MPI_Send(bytes, (int)len, MPI_BYTE, to, TAG, MPI_COMM_WORLD);
}

static char *
mpi_recv(int *from, size_t *len)
{
	MPI_Status status;
	int is_there, nb;
	char *bytes;

	MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &is_there, &status);
	if (!is_there)
		return NULL;
	MPI_Get_count(&status, MPI_BYTE, &nb);
	bytes = malloc((size_t)nb + 1);
	if (!bytes)
		return NULL;
	MPI_Recv(bytes, nb, MPI_BYTE, status.MPI_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	bytes[nb] = '\0';
	*from = status.MPI_SOURCE;
	*len = (size_t)nb;
	return bytes;
}

static void
mpi_end(void)
{
	MPI_Finalize();
}

static void
mpi_abort(int code)
{
	MPI_Abort(MPI_COMM_WORLD, code);
}

/* Ranks that share memory are on one machine. */
static int
count_here(void)
{
	MPI_Comm here;
	int nb = 1;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
	MPI_Comm_size(here, &nb);
	MPI_Comm_free(&here);
	return nb;
}

__attribute__((visibility("default"))) int
lab_mpi_open(struct net *net)
{
	if (MPI_Init(NULL, NULL) != MPI_SUCCESS)
		return -EIO;
	*net = (struct net){.send = mpi_send, .recv = mpi_recv, .end = mpi_end, .abort = mpi_abort};
	MPI_Comm_rank(MPI_COMM_WORLD, &net->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &net->nb_ranks);
	net->nb_here = (uint32_t)count_here();
	return 0;
}
