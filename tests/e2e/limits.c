/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * limits DEVICE KIND MAX [hold]: makes up to MAX objects of a kind and prints how many it got and
 * what the last refusal said, "4 Cannot allocate memory"; with hold it keeps them until its input
 * ends. A program of verbs, as any other.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "verbs.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char page[4096];

static const char *device;

static void *
make_client(void)
{
	return verbs_open(device);
}

static void *
make_qp(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {1, 1, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(pd, &init);
}

static void *
make_mr(void)
{
	return ibv_reg_mr(pd, page, sizeof(page), IBV_ACCESS_LOCAL_WRITE);
}

/* Memory that lies apart from all other. */
static void *
make_buffer(void)
{
	char *at = mmap(NULL, 3 * sizeof(page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	                -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	munmap(at, sizeof(page));
	munmap(at + 2 * sizeof(page), sizeof(page));
	return ibv_reg_mr(pd, at + sizeof(page), sizeof(page), IBV_ACCESS_LOCAL_WRITE);
}

static void *
make_mw(void)
{
	return ibv_alloc_mw(pd, IBV_MW_TYPE_2);
}

static void *
make_pd(void)
{
	return ibv_alloc_pd(ctx);
}

static void *
make_channel(void)
{
	return ibv_create_comp_channel(ctx);
}

static void *
make_cq(void)
{
	return ibv_create_cq(ctx, 16, NULL, NULL, 0);
}

/* Its ring is 4 MiB and a page. */
static void *
make_large_cq(void)
{
	return ibv_create_cq(ctx, 65536, NULL, NULL, 0);
}

static void *
make_srq(void)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 1}};

	return ibv_create_srq(pd, &init);
}

/* A program that comes, is refused a QP, and goes. */
static void *
make_refusal(void)
{
	struct ibv_qp_init_attr init = {
		.cap = {1, 1, 1, 1, 0},
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_context *c = verbs_open(device);
	struct ibv_qp *qps[64];
	struct ibv_pd *p;
	int n = 0;

	if (!c)
		return NULL;
	p = ibv_alloc_pd(c);
	init.send_cq = init.recv_cq = ibv_create_cq(c, 16, NULL, NULL, 0);
	while (n < 64 && (qps[n] = ibv_create_qp(p, &init)))
		n++;
	for (int i = 0; i < n; i++)
		ibv_destroy_qp(qps[i]);
	ibv_destroy_cq(init.send_cq);
	ibv_dealloc_pd(p);
	ibv_close_device(c);
	return n < 64 ? &page : NULL;
}

static const struct {
	const char *kind;
	void *(*make)(void);
} kinds[] = {
	{"client", make_client},   {"qp", make_qp},           {"buffer", make_buffer},
	{"mr", make_mr},           {"mw", make_mw},           {"pd", make_pd},
	{"channel", make_channel}, {"cq", make_cq},           {"large_cq", make_large_cq},
	{"srq", make_srq},         {"refusal", make_refusal},
};

int
main(int argc, char **argv)
{
	void *(*make)(void) = NULL;
	int max, n = 0;

	if (argc < 4)
		return 2;
	device = argv[1];
	max = atoi(argv[3]);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].kind, argv[2]) == 0)
			make = kinds[i].make;
	}
	if (make != make_client) {
		ctx = verbs_open(device);
		pd = ctx ? ibv_alloc_pd(ctx) : NULL;
		cq = ctx ? ibv_create_cq(ctx, 16, NULL, NULL, 0) : NULL;
		if (!pd || !cq)
			return 3;
	}
	if (!make)
		return 2;
	errno = 0;
	while (n < max && make())
		n++;
	printf("%d %s\n", n, n < max ? strerror(errno) : "granted");
	fflush(stdout);
	if (argc > 4)
		while (getchar() != EOF)
			;
	/* The daemon takes back what the end of the program leaves. */
	return 0;
}
