/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bounds.h"
#include "conf_rig.h"

/* Each row's text stands behind TWO_NICS, which ends within [switch s]: from line 10 on. */
Test(conf_switch, mistakes_are_told_with_line_and_what_is_known)
{
	static const struct {
		const char *text;
		const char *want; /* NULL = none */
	} rows[] = {
		{"lb = flowlet\n[engine flowlet]\ngap = 1us\n", NULL},
		{"lb = fixed\n",
	         ":10: unknown lb engine of switches 'fixed' (known: ecmp, flowlet, spray, "
	         "adaptive)\n"},
		{"trust = pcp\n", NULL},
		{"trust = tos\n", ":10: trust 'tos': known are dscp and pcp\n"},
		{"dscp_map = 46:5, 26:3\ndscp_map = 0:7\n", NULL},
		{"dscp_map = 64:0\n", ":10: dscp_map '64:0': pairs such as 3:5, up to 63:7\n"},
		{"dscp_map = 46:8\n", ":10: dscp_map '46:8': pairs such as 3:5, up to 63:7\n"},
		{"dscp_map = 46\n", ":10: dscp_map '46': pairs such as 3:5, up to 63:7\n"},
		{"dscp_map = :\n", ":10: dscp_map ':': pairs such as 3:5, up to 63:7\n"},
		{"dscp_map = 4:1:2\n", ":10: dscp_map '4:1:2': pairs such as 3:5, up to 63:7\n"},
		{"dscp_map = -1:0\n", ":10: dscp_map '-1:0': pairs such as 3:5, up to 63:7\n"},
		{"pcp_map = 7:0\n", NULL},
		{"pcp_map = 8:0\n", ":10: pcp_map '8:0': pairs such as 3:5, up to 7:7\n"},
		{"pfc = 3, 4\n", NULL},
		{"pfc = 3 8\n", ":10: pfc '8': classes from 0 to 7\n"},
		{"pfc = yes\n", ":10: pfc 'yes': classes from 0 to 7\n"},
		{"trim_queue = 7\n", NULL},
		{"trim_queue = 8\n", ":10: trim_queue '8': a queue from 0 to 7\n"},
		{"trim_queue = none\n", ":10: trim_queue 'none': a queue from 0 to 7\n"},
		{"int = on\n", ":10: int 'on' is neither yes nor no\n"},
		{"int = yes\nrate = 100G\n", NULL},
		{"ecn_pmax = 2\n", ":10: ecn_pmax = 2: out of range (0 to 1)\n"},
		{"wieght = 2\n", ":10: unknown key 'wieght' (nearest: 'weight')\n"},
		{"rate = 10 Gb\n", ":10: rate = 10 Gb: not a rate (such as 100G, 100Gbps, 100Gb/s "
	                           "or 100Gbit/s; K, M, G or T)\n"},
		/* What does not fit together, of the whole switch. */
		{"ecn_kmin = 2K\necn_kmax = 1K\n",
	         ":10: [switch s]: ecn_kmin = 2048 is above ecn_kmax = 1024\n"},
		{"ecn_kmin = 2K\n[queue s/3]\necn_kmin = 1K\n",
	         ":10: [switch s]: ecn_kmin = 2048, and ecn_kmax is missing: the bytes above which "
	         "all is marked\n"
	         ":12: [queue s/3]: ecn_kmin = 1024, and ecn_kmax is missing: the bytes above "
	         "which all is marked\n"},
		{"int = yes\n", ":10: [switch s]: port ring:a: telemetry knows links of 1, 2.5, 5, "
	                        "10, 25, 40, 50, "
	                        "100, 200, 400, 800 and 1600 Gb/s: set its rate\n"},
		{"rate = 1000\n", ":10: [switch s]: port ring:a: rate is less than 1 Mb/s\n"},
		{"rate = 1G\n[port ring:b]\nrate = 1000\n",
	         ":12: [switch s]: port ring:b: rate is less than 1 Mb/s\n"},
		/* All at a time. */
		{"pfc = 3\ntrim_queue = 3\nint = yes\nbuffer = 64K\n[queue s/0]\necn_kmin = 1K\n"
	         "[port ring:a]\nrate = 1000\n",
	         ":15: [queue s/0]: ecn_kmin = 1024, and ecn_kmax is missing: the bytes above "
	         "which "
	         "all is marked\n"
	         ":13: [switch s]: reserve and headroom of all ports take 1114112 bytes: no part "
	         "of "
	         "buffer = 65536 is left to share\n"
	         ":11: [switch s]: queue 3 cannot be lossless and for header-only packets\n"
	         ":17: [switch s]: port ring:a: rate is less than 1 Mb/s\n"
	         ":12: [switch s]: port ring:b: telemetry knows links of 1, 2.5, 5, 10, 25, 40, "
	         "50, "
	         "100, 200, 400, 800 and 1600 Gb/s: set its rate\n"},
		{"pfc = 3\ntrim_queue = 3\n",
	         ":11: [switch s]: queue 3 cannot be lossless and for header-only packets\n"},
		{"buffer = 64K\nreserve = 4K\n",
	         ":10: [switch s]: reserve and headroom of all ports take 65536 bytes: no part of "
	         "buffer = 65536 is left to share\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_lines(TWO_NICS, rows[i].text, rows[i].want == NULL, rows[i].want, i);
}

Test(conf_switch, mistakes_of_a_route)
{
	static const struct {
		const char *text;
		const char *want; /* NULL = none */
	} rows[] = {
		{"route = 10.0.0.0/8 ring:a ring:b\nroute = ::/0 ring:a\nroute = 0.0.0.0/0 "
	         "ring:b\n",
	         NULL},
		{"route = 10.0.0.0/8 ring:a\nroute = 10.0.0.0/8, ring:b\n", NULL},
		{"route = 10.0.0.1/8 ring:a\n",
	         ":10: '10.0.0.1/8': bits behind /8 are set; is 10.0.0.0/8 meant?\n"},
		{"route = ring:a\n",
	         ":10: 'ring:a' is not a prefix such as 10.0.0.0/8 or fd00::/16\n"},
		{"route = # none\n", ":10: route: PREFIX PORT ...\n"},
		{"route = fd00::/16\n", ":10: route fd00::/16: to which ports?\n"},
		{"route = fd00::/16 ring:c\n",
	         ":10: unknown port of this switch 'ring:c' (nearest: 'ring:a')\n"},
		{"route = fd00::/16 ring\n",
	         ":10: port 'ring' is none of ring:NAME, link:SOCKET, af_packet:INTERFACE, "
	         "af_xdp:INTERFACE, memif:SOCKET,ROLE, pci:ADDRESS\n"},
		{"route = fd00::/16 ring:a ring:a\n",
	         ":10: route fd00::/16 has port 'ring:a' already\n"},
		{"route = 10.0.0.0/8 ring:a\nroute = 10.0.0.0/8 ring:b ring:a\n",
	         ":11: route 10.0.0.0/8 has port 'ring:a' already\n"},
		{"[switch t]\nroute = 10.0.0.0/8 ring:a\nports = memif:/x/y,server\n",
	         ":11: unknown port of this switch 'ring:a': ports come first\n"},
		{"[switch t]\nports = memif:/x/y,server\nroute = ::/0 memif:/x/y,server\n", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_lines(TWO_NICS, rows[i].text, rows[i].want == NULL, rows[i].want, i);
}

Test(conf_switch, mistakes_of_queues_and_ports)
{
	static const struct {
		const char *text;
		const char *want; /* NULL = none */
	} rows[] = {
		{"[queue s/0]\nweight = 2\n[queue s/7]\nalpha = 0.5\n", NULL},
		{"[queue s/8]\n",
	         ":10: [queue s/8]: the name of a switch, '/', and 0 to 7, please\n"},
		{"[queue s]\n", ":10: [queue s]: the name of a switch, '/', and 0 to 7, please\n"},
		{"[queue s/]\n",
	         ":10: [queue s/]: the name of a switch, '/', and 0 to 7, please\n"},
		{"[queue]\n", ":10: the section is written [queue SWITCH/N]\n"},
		{"[queue sw/0]\n[switch sw]\nports = link:x\n", ":10: unknown switch above 'sw'\n"},
		{"[queue s/1]\n[queue s/1]\n",
	         ":11: section [queue s/1] began at line 10 already\n"},
		{"[queue s/1]\nrate = 1G\n", ":11: unknown key 'rate'\n"},
		{"[queue s/1]\nreserve = 1T\n", ":11: reserve = 1T: out of range (0 to 16M)\n"},
		{"[port ring:a]\nrate = 10G\ndelay = 5us\n", NULL},
		{"[port ring:a]\nbeta_dt = 0\n", ":11: beta_dt = 0: out of range (1 to 1024)\n"},
		{"[port ring:a]\nweight = 1\n", ":11: unknown key 'weight'\n"},
		{"[switch t]\nports = link:x\n[port link:x]\n[switch u]\nports = link:x\n",
	         ":12: [port]: it must stand behind [switch u], at line 13, which lists it too\n"
	         ":1: [nic n0], at [switch s], cannot be reached from [switch t]: no link leads "
	         "there\n"
	         ":4: [nic n1], at [switch s], cannot be reached from [switch t]: no link leads "
	         "there\n"},
		/* A switch that was skipped: what refers to it is not told. */
		{"[switsh u]\nports = link:z\n[queue u/3]\n",
	         ":10: unknown section 'switsh' (nearest: 'switch')\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_lines(TWO_NICS, rows[i].text, rows[i].want == NULL, rows[i].want, i);
}

Test(conf_switch, what_is_allowed_and_hardly_meant_is_a_warning)
{
	static const struct {
		const char *text;
		const char *want;
	} rows[] = {
		/* Two delays of 100 us at 10 Gb/s: 250,000 bytes; two frames of 4,218. */
		{"rate = 10G\ndelay = 100us\nheadroom = 250K\n", ""}, /* no lossless class */
		{"rate = 10G\ndelay = 100us\npfc = 3\nheadroom = 258436\n", ""},
		{"rate = 10G\ndelay = 100us\npfc = 3\nheadroom = 258435\n",
	         ":12: warning: [switch s]: port ring:a has headroom = 258435, and two delays of "
	         "its link and two frames take 258436: lossless classes may lose frames; other "
	         "ports as well\n"},
		{"pfc = 3\n[port ring:b]\nheadroom = 1K\n",
	         ":12: warning: [switch s]: port ring:b has headroom = 1024, and two delays of its "
	         "link and two frames take 8436: lossless classes may lose frames\n"},
		/* 16 MiB less 16 x 4 KiB and 2 x 512 KiB: 15,663,104; / (2 x (1 + 8)) is 870,172.
	         */
		{"pfc = 3\necn_kmin = 870172\necn_kmax = 1M\n", ""},
		{"pfc = 3\necn_kmin = 870173\necn_kmax = 1M\n",
	         ":11: warning: [switch s]: queue 3 marks above ecn_kmin = 870173, and its "
	         "senders may be paused from 870172 bytes on: for marks to come first, ecn_kmin "
	         "must be lower, the buffer larger or beta_dt smaller\n"},
		{"pfc = 3\n[queue s/3]\necn_kmin = 1K\necn_kmax = 2M\n",
	         ":13: warning: [switch s]: queue 3 never reaches ecn_kmax = 2097152: all its "
	         "senders are paused at 1744440 bytes; a lower ecn_kmax, a larger buffer or a "
	         "smaller beta_dt, please\n"},
		{"ecn_kmin = 1M\necn_kmax = 2M\n", ""},
		/* NICs have a rate of 100 Gb/s, as pauses for a port without one. */
		{"pfc = 3\nrate = 10G\n", ""},
		{"rate = 10G\n[nic n2]\nport = ring:c\nip = 10.0.0.3\nrate = 400G\n"
	         "[switch t]\nports = ring:c\npfc = 3\n",
	         ":14: warning: [nic n2]: it counts pauses in times of its rate = 400G, and "
	         "[switch t] tells them for up to 100G at ring:c: it may go on too early; the same "
	         "rate, please\n"},
		{"[nic n2]\nport = ring:c\nip = 10.0.0.3\nrate = 400G\n"
	         "[switch t]\nports = ring:c\npfc = 3\nrate = 400G\n",
	         ""},
		{"mtu = 2100\n",
	         ":10: warning: [switch s]: mtu = 2100 has no room for the path MTU of [nic n0] at "
	         "ring:a, 4096: its frames pass within this process, and are dropped at the next "
	         "one\n"
	         ":10: warning: [switch s]: mtu = 2100 has no room for the path MTU of [nic n1] at "
	         "ring:b, 4096: its frames pass within this process, and are dropped at the next "
	         "one\n"},
		/* Only where there is a choice of ports. */
		{"lb = spray\n", ""},
		{"lb = spray\nroute = ::/0 ring:a ring:b\n",
	         ":10: warning: [switch s]: with lb = spray packets of a flow overtake each other, "
	         "and gbn, the reliability of [nic n0], repeats all behind a gap; flowlet, or "
	         "adaptive with a gap, keeps their order\n"},
		{"lb = adaptive\nroute = ::/0 ring:a ring:b\n[engine adaptive]\ngap = 1us\n", ""},
		{"limit = 4218\n", ""},
		{"limit = 4217\n[queue s/6]\nlimit = 1K\n",
	         ":10: warning: [switch s]: limit = 4217 is less than a frame of mtu = 4200, which "
	         "is 4218: a longer one than limit never passes\n"
	         ":12: warning: [queue s/6]: limit = 1024 is less than a frame of mtu = 4200, "
	         "which is 4218: a longer one than limit never passes\n"},
		{"trim_queue = 7\n[queue s/7]\nlimit = 1K\n", ""},
		{"pfc = 3\nlimit = 1M\n", ""},
		{"pfc = 3\n[queue s/3]\nlimit = 1M\n",
	         ":12: warning: [queue s/3]: limit has no effect on a lossless class: what bounds "
	         "it is beta_dt and headroom of its ports\n"},
		{"flood = no\n[port ring:b]\nflood = yes\n", ""},
		{"flood = no\n",
	         ":10: warning: [switch s]: with flood = no at all its ports neither ARP nor "
	         "neighbour discovery passes: hosts do not find each other\n"},
		{"buffer_pkts = 8191\n", ""},
		{"buffer_pkts = 8192\n",
	         ":10: warning: buffer_pkts of all switches is 8192, and [daemon] packets = 8191: "
	         "full switches would leave none to NICs and ports\n"},
		/* (256 + 101) / 101 is less than 4 - 1. */
		{"[switch t]\nmtu = 576\ntrim_queue = 7\nports = link:a link:b link:c link:d "
	         "link:e\n",
	         ":12: warning: [switch t]: no weight keeps all headers in an incast: with 5 "
	         "ports, data of 357 bytes must be more than 4 times its headers of 101, both "
	         "with overhead = 24: mtu = 576 is a path MTU of 256; fewer ports or a larger mtu, "
	         "please, or [queue t/7] weight\n"},
		{"[switch t]\nmtu = 576\ntrim_queue = 7\nports = link:a link:b link:c link:d "
	         "link:e\n"
	         "[queue t/7]\nweight = 9\n",
	         ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		expect_lines(TWO_NICS, rows[i].text, true, rows[i].want, i);
}

Test(conf_switch, all_features_are_read)
{
	static const char text[] =
		TWO_NICS "lb = adaptive\ntrust = pcp\ndscp_map = 46:5 26:3\npcp_map = 1:0\n"
			 "pfc = 3, 4\ntrim_queue = 7\nint = yes\nrate = 100G\n"
			 "ecn_kmin = 100K\necn_kmax = 400K\nroute = 10.1.0.0/16 ring:b\n"
			 "route = fd00::/16 ring:a\nroute = 10.1.0.0/16 ring:a\n"
			 "[queue s/3]\necn_kmax = 200K\n"
			 "[port ring:b]\nrate = 25G\ndelay = 1us\n"
			 "[engine adaptive]\ngap = 100us\n";
	struct conf *conf = read_good(text);
	const struct conf_switch *sw = &conf->switches[0];
	struct switch_port_params ports[CONF_MAX_PORTS];
	struct switch_conf f = conf_switch_fabric(sw, ports);

	cr_expect_str_eq(f.lb->info.name, "adaptive");
	cr_expect_eq(f.trust, TRUST_PCP);
	cr_expect(f.class_of_dscp[46] == 5 && f.class_of_dscp[26] == 3 && f.class_of_dscp[24] == 3);
	cr_expect(f.class_of_pcp[1] == 0 && f.class_of_pcp[7] == 7);
	cr_expect_eq(f.lossless, 1 << 3 | 1 << 4);
	cr_expect_eq(f.trim_queue, 7);
	cr_expect(f.has_int);
	cr_expect_eq(f.nb_ports, 2);
	cr_expect_eq(f.ports[0].rate_bps, 100000000000);
	cr_expect_eq(f.ports[1].rate_bps, 25000000000);
	cr_expect_eq(f.ports[1].delay_ns, 1000);
	cr_expect_eq(f.ports[1].headroom_bytes, 512 << 10, "what it does not say");
	cr_expect_eq(f.queues[0].kmax_bytes, 400 << 10);
	cr_expect_eq(f.queues[3].kmin_bytes, 100 << 10, "what it does not say");
	cr_expect_eq(f.queues[3].kmax_bytes, 200 << 10);
	cr_expect_eq(sw->nb_routes, 2);
	cr_expect(sw->routes[0].prefix.bits == 112 && sw->routes[0].ports == 3);
	cr_expect(sw->routes[1].prefix.bits == 16 && sw->routes[1].ports == 1);
	conf_free(conf);
}

Test(conf_switch, ports_between_switches_begin_as_each_switch_has_them)
{
	static const char text[] = "[switch s]\nports = link:x\nrate = 25G\n"
				   "[switch t]\nports = link:x\nrate = 100G\nbeta_dt = 4\n"
				   "[port link:x]\ndelay = 3us\n";
	struct conf *conf = read_good(text);
	const struct switch_port_params *s = &conf->switches[0].settings[0].link;
	const struct switch_port_params *t = &conf->switches[1].settings[0].link;

	cr_expect(s->rate_bps == 25000000000 && s->delay_ns == 3000 && s->beta_dt == 8);
	cr_expect(t->rate_bps == 100000000000 && t->delay_ns == 3000 && t->beta_dt == 4);
	conf_free(conf);
}

Test(conf_switch, switches_of_different_names_differ)
{
	struct conf *conf = read_good("[switch leaf0]\nports = link:x\n"
	                              "[switch leaf1]\nports = link:y\n");
	const struct switch_conf *a = &conf->switches[0].fabric, *b = &conf->switches[1].fabric;

	cr_expect_neq(a->id, b->id);
	cr_expect_neq(memcmp(a->mac, b->mac, 6), 0);
	cr_expect(a->mac[0] == 2 && b->mac[0] == 2);
	conf_free(conf);
}

Test(conf_switch, a_queue_of_headers_has_the_weight_of_the_bound)
{
	static const struct {
		const char *text;
		double want; /* in weights of the seven others */
		const char *told;
	} rows[] = {
		{"trim_queue = 7\n", 7,
	         "header-only packets in queue 7: weight 0.1726, all others 7; 2 ports, 4197 bytes "
	         "of the link before the cut, 101 after"},
		{"trim_queue = 7\nweight = 3\n", 21,
	         "header-only packets in queue 7: weight 0.5178, all others 21; 2 ports, 4197 "
	         "bytes of the link before the cut, 101 after"},
		/* Strict ones are before it anyway. */
		{"trim_queue = 7\n[queue s/6]\nweight = 0\n[queue s/7]\nreserve = 0\n", 6,
	         "header-only packets in queue 7: weight 0.1479, all others 6; 2 ports, 4197 bytes "
	         "of the link before the cut, 101 after"},
	};
	/* Links of 4,200: a path MTU of 4,096; 77 bytes of headers as IPv6, 24 of the link. */
	double bound = trim_weight(2, 4096 + 77 + 24, 77 + 24);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char all[1024], text[CONF_TRIM_TEXT];
		struct conf *conf;
		double weight;

		snprintf(all, sizeof(all), "%s%s", TWO_NICS, rows[i].text);
		conf = read_good(all);
		weight = conf->switches[0].fabric.queues[7].weight;
		cr_expect(conf_trim_text(&conf->switches[0], text, sizeof(text)));
		cr_expect_str_eq(text, rows[i].told, "row %zu: %s", i, text);
		cr_expect(fabs(weight - rows[i].want * bound) < 1e-9, "row %zu: %f", i, weight);
		conf_free(conf);
	}
}
