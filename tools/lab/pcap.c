/* SPDX-License-Identifier: BSD-3-Clause */
#include "pcap.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "outfile.h"
#include "pcapng.h"
#include "pkt.h"

/* Written at once. */
#define OUT_BYTES (1u << 20)

struct pcap {
	struct outfile out;
	int err; /* of the write that failed */
	struct lab_tap tap;
	uint16_t nb_ports;
	uint64_t last_ns;
	uint64_t nb_frames[PLAN_PORTS_MAX];
	uint8_t *block; /* OUT_BYTES */
};

static void
write_block(struct pcap *pcap, size_t len)
{
	if (pcap->err || fwrite(pcap->block, len, 1, pcap->out.f) == 1)
		return;
	pcap->err = errno ? errno : EIO;
	log_error("cannot write %s: %s; the capture ends here", pcap->out.path,
	          strerror(pcap->err));
}

static void
take_frame(void *arg, uint32_t node, uint16_t port, bool is_out, uint64_t at_ps,
           const struct pkt *pkt)
{
	struct pcap *pcap = arg;

	assert(node == pcap->tap.node && port < pcap->nb_ports);
	assert(pkt_held(pkt) <= OUT_BYTES - PCAPNG_PACKET_EXTRA - 3);
	if (pcap->err)
		return;
	pcap->last_ns = at_ps / PS_PER_NS;
	pcap->nb_frames[port]++;
	write_block(pcap, pcapng_packet(pcap->block, port, is_out, pcap->last_ns, pkt->data,
	                                pkt_held(pkt), pkt->len));
}

static void
write_begin(struct pcap *pcap, const struct plan *plan)
{
	char name[PLAN_NAME_LEN], interface[PLAN_NAME_LEN + 8];

	plan_node_name(plan, pcap->tap.node, name);
	write_block(pcap, pcapng_section(pcap->block, "weft-lab"));
	for (uint16_t p = 0; p < pcap->nb_ports; p++) {
		snprintf(interface, sizeof(interface), "%s/%u", name, p);
		write_block(pcap, pcapng_interface(pcap->block, interface, 0));
	}
}

struct pcap *
pcap_open(const char *path, const struct plan *plan, uint32_t node)
{
	const uint32_t sw = node - plan->nb_hosts;
	struct pcap *pcap = calloc(1, sizeof(*pcap));
	uint8_t *block = malloc(OUT_BYTES);

	if (!pcap || !block) {
		log_error("cannot write %s: out of memory", path);
		goto fail;
	}
	pcap->tap = (struct lab_tap){.frame = take_frame, .arg = pcap, .node = node};
	pcap->nb_ports = node < plan->nb_hosts ? 1 : plan->switches[sw].nb_ports;
	pcap->block = block;
	assert(pcap->nb_ports <= PLAN_PORTS_MAX);
	if (outfile_open(&pcap->out, NULL, path))
		goto fail;
	setvbuf(pcap->out.f, NULL, _IOFBF, OUT_BYTES);
	write_begin(pcap, plan);
	return pcap;
fail:
	free(block);
	free(pcap);
	return NULL;
}

const struct lab_tap *
pcap_tap(const struct pcap *pcap)
{
	return &pcap->tap;
}

int
pcap_close(struct pcap *pcap)
{
	int err;

	for (uint16_t p = 0; p < pcap->nb_ports; p++)
		write_block(pcap,
		            pcapng_stats(pcap->block, p, pcap->last_ns, pcap->nb_frames[p], 0));
	if (pcap->err) {
		/* Told already. */
		fclose(pcap->out.f);
		err = -pcap->err;
	} else {
		err = outfile_close(&pcap->out);
	}
	free(pcap->block);
	free(pcap);
	return err;
}
