/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "pair.h"

/* Types of service and VLAN priorities of what leaves: who says them. */

#define ASKED 0x8b /* by the application: class 4; CE is not for it to say */
#define NIC_TOS 0x6a

/* What arrived at either side, apart from neighbour frames. */
struct seen {
	uint32_t nb_pkts;
	uint32_t nb_ect; /**< of them with ECT(0) */
	uint8_t tos;
	bool same_tos; /**< all of them */
	bool pcp_is_class;
	bool has_vlan;
};

static void
look(void *arg, const struct pkt *pkt)
{
	struct seen *seen = arg;
	struct wire_pkt w;
	enum wire_bad bad;

	if (wire_parse(pkt->data, pkt->len, &w, &bad) != WIRE_ROCE)
		return;
	cr_assert(wire_icrc_ok(pkt->data, &w));
	if (!seen->nb_pkts++) {
		seen->tos = w.tos & 0xfc;
		seen->same_tos = seen->pcp_is_class = true;
	}
	seen->nb_ect += (w.tos & 3) == ECN_ECT0;
	seen->same_tos &= (w.tos & 0xfc) == seen->tos;
	seen->pcp_is_class &= w.vlan_tci >> 13 == w.tos >> 5;
	seen->has_vlan = w.has_vlan;
}

/* What the engines want of data. */
static uint8_t engines_ecn = ECN_ECT0;

/* Some data from side 0 to side 1, over a QP of this type. */
static struct seen
send_some(uint8_t type, bool ipv6, uint16_t vlan, const uint8_t *nic_tos)
{
	struct seen seen = {0};
	struct world_conf wc = {.ipv6 = ipv6,
	                        .vlan = vlan,
	                        .traffic_class = nic_tos,
	                        .tap = look,
	                        .tap_arg = &seen};
	struct app_conf ac = {.type = type};
	struct shm_send_wqe wqe;
	struct shm_sge sge;
	struct pair p;

	pair_make(&p, &wc, &ac);
	for (uint8_t state = SHM_QPS_INIT; state <= SHM_QPS_RTS; state++)
		for (int i = 0; i < 2; i++) {
			struct shm_qp_attr attr = app_attr(&p.qp[i], &p.qp[!i]);

			attr.av.traffic_class = ASKED;
			cr_assert_eq(app_to(&p.qp[i], &attr, state), 0);
		}
	p.qp[0].qp->ecn = engines_ecn;
	wqe = pair_wqe(&p, SHM_WR_SEND, 1, 0);
	if (type == SHM_QPT_UD) {
		wqe.ud.av = app_attr(&p.qp[0], &p.qp[1]).av;
		wqe.ud.av.traffic_class = ASKED;
		wqe.ud.qpn = p.qp[1].qp->qpn;
		wqe.ud.qkey = 0x1234;
	}
	sge = pair_sge(&p, 0, 0, 1000);
	pair_recv(&p, 2, 0, 2000);
	app_post_send(&p.qp[0], &wqe, &sge);
	pair_expect(&p, &p.qp[1].rcq, 2, SHM_WC_SUCCESS);
	pair_expect(&p, &p.qp[0].scq, 1, SHM_WC_SUCCESS);
	pair_close(&p);
	return seen;
}

Test(tos, the_nics_is_used_instead_of_the_applications_by_every_kind_of_qp)
{
	static const uint8_t types[] = {SHM_QPT_RC, SHM_QPT_UC, SHM_QPT_UD};
	static const uint8_t nic_tos = NIC_TOS;

	for (size_t i = 0; i < 3; i++)
		for (int ipv6 = 0; ipv6 < 2; ipv6++)
			for (int own = 0; own < 2; own++) {
				struct seen seen =
					send_some(types[i], ipv6, 0, own ? &nic_tos : NULL);

				cr_expect_eq(seen.nb_pkts, types[i] == SHM_QPT_RC ? 2 : 1);
				cr_expect_eq(seen.tos, (own ? NIC_TOS : ASKED) & 0xfc,
				             "type %u, IPv6 %d: 0x%02x", types[i], ipv6, seen.tos);
				cr_expect(seen.same_tos, "the answer has it, too");
				cr_expect_eq(seen.nb_ect, 1, "data are ECT(0), answers are not");
				cr_expect_not(seen.has_vlan);
			}
}

Test(tos, if_the_engines_want_no_ecn_data_has_what_the_traffic_class_says)
{
	static const struct {
		uint8_t tos;
		uint32_t nb_ect;
	} rows[] = {{0x60, 0}, {0x62, 1}, {0x63, 0}};
	static const uint8_t types[] = {SHM_QPT_RC, SHM_QPT_UC, SHM_QPT_UD};

	engines_ecn = ECN_NOT_ECT;
	for (size_t i = 0; i < 3; i++)
		for (size_t t = 0; t < 3; t++) {
			struct seen seen = send_some(types[t], t & 1, 0, &rows[i].tos);

			cr_expect_eq(seen.nb_ect, rows[i].nb_ect, "0x%x, type %zu", rows[i].tos, t);
		}
}

Test(tos, a_vlan_tag_has_the_priority_of_the_class)
{
	static const uint8_t types[] = {SHM_QPT_RC, SHM_QPT_UD};
	static const uint8_t nic_tos = NIC_TOS;

	for (size_t i = 0; i < 2; i++)
		for (int own = 0; own < 2; own++) {
			struct seen seen = send_some(types[i], own, 77, own ? &nic_tos : NULL);

			cr_expect(seen.has_vlan && seen.pcp_is_class);
			cr_expect_eq(seen.tos >> 5, own ? 3 : 4);
		}
}
