/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "conf_rig.h"

Test(conf, mistakes_are_told_with_file_line_and_the_nearest_word)
{
	static const struct {
		const char *text;
		const char *want; /* the whole report */
	} rows[] = {
		{"", "t.conf: neither a [nic NAME] nor a [switch NAME]: nothing to run\n"},
		{"[daemon]\nname = x\n",
	         "t.conf:2: neither a [nic NAME] nor a [switch NAME]: nothing to run\n"},
		{"prt = 1\n" TWO_NICS, "t.conf:1: key 'prt' stands before the first section\n"},
		{TWO_NICS "[demon]\nname = x\n",
	         "t.conf:10: unknown section 'demon' (nearest: 'daemon')\n"},
		/* What follows from a section that is skipped is not told. */
		{"[NIC b]\nport = ring:a\n", "t.conf:1: unknown section 'NIC' (nearest: 'nic')\n"},
		{"[nic\nport = ring:a\n", "t.conf:1: neither [SECTION] nor KEY = VALUE\n"},
		{TWO_NICS "[nic n2]\nport = ring:c\nip = 10.0.0.3\n[nick n3]\nport = ring:c\n",
	         "t.conf:13: unknown section 'nick' (nearest: 'nic')\n"},
		{TWO_NICS "[daemon x]\n", "t.conf:10: the section is written [daemon]\n"},
		{TWO_NICS "[nic]\n", "t.conf:10: the section is written [nic NAME]\n"},
		{TWO_NICS "[nic a b]\n", "t.conf:10: the section is written [nic NAME]\n"},
		{TWO_NICS "[]\n", "t.conf:10: a section without a name\n"},
		{TWO_NICS "[ ]\n", "t.conf:10: a section without a name\n"},
		{TWO_NICS "[daemon\npackets = x\n",
	         "t.conf:10: neither [SECTION] nor KEY = VALUE\n"},
		{TWO_NICS "[daemon]\nwhat\n", "t.conf:11: neither [SECTION] nor KEY = VALUE\n"},
		{TWO_NICS "[nic n/0]\n",
	         "t.conf:10: name 'n/0': letters, digits, '_', '-' and '.' only\n"},
		{TWO_NICS "[nic .n0]\n",
	         "t.conf:10: name '.n0': letters, digits, '_', '-' and '.' only\n"},
		{TWO_NICS "[nic a234567890123456789012345678901]\n", NULL},
		{TWO_NICS "[nic a2345678901234567890123456789012]\n",
	         "t.conf:10: name 'a2345678901234567890123456789012': 1 to 31 characters\n"},
		{TWO_NICS "[switch s]\n",
	         "t.conf:10: section [switch s] began at line 7 already\n"},
		{TWO_NICS "[nic n1]\n", "t.conf:10: section [nic n1] began at line 4 already\n"},
		{TWO_NICS "[daemon]\n[daemon]\n",
	         "t.conf:11: section [daemon] began at line 10 already\n"},
		{TWO_NICS "[daemon]\nhugepage = yes\n",
	         "t.conf:11: unknown key 'hugepage' (nearest: 'hugepages')\n"},
		{TWO_NICS "[daemon]\nhugepages = 1\n",
	         "t.conf:11: hugepages '1' is neither yes nor no\n"},
		{TWO_NICS "[daemon]\nidle = spin\n",
	         "t.conf:11: idle 'spin': known are sleep and poll\n"},
		{TWO_NICS "[daemon]\npackets = 5\n",
	         "t.conf:11: packets = 5: out of range (1023 to 4194304)\n"},
		{TWO_NICS "[daemon]\nname = a\nname = b\n",
	         "t.conf:12: key 'name' was set at line 11 already\n"},
		{TWO_NICS "[engine gbm]\n",
	         "t.conf:10: unknown engine 'gbm' (known: gbn, ecmp, fixed, spray, flowlet, "
	         "adaptive)\n"},
		{TWO_NICS "[engine ecmp]\ngap = 1us\n", "t.conf:11: unknown key 'gap'\n"},
		{TWO_NICS "[engine flowlet]\ngap = 0\n",
	         "t.conf:11: gap = 0: out of range (1ns to 10s)\n"},
		{TWO_NICS "[engine spray]\nround_robin = 1\n",
	         "t.conf:11: round_robin = 1: neither yes nor no\n"},
		{TWO_NICS "[engine flowlet]\nflowlets = yes\n",
	         "t.conf:11: flowlets = yes: not a number\n"},
		{TWO_NICS "[engine gbn]\nrenack = 1us\n",
	         "t.conf:11: unknown key 'renack' (known: renak)\n"},
		{TWO_NICS "[engine fixed]\nx = 1us\n",
	         "t.conf:11: unknown key 'x' (known: rate, window, ack_every)\n"},
		{TWO_NICS "[engine none]\nx = 1us\n", "t.conf:11: unknown key 'x'\n"},
		{TWO_NICS "[engine gbn]\n[engine gbn]\n",
	         "t.conf:11: section [engine gbn] began at line 10 already\n"},
		{TWO_NICS "[peer 10.0.0.1/8]\n",
	         "t.conf:10: '10.0.0.1/8': bits behind /8 are set; is 10.0.0.0/8 meant?\n"},
		{TWO_NICS "[peer ::ffff:10.0.0.1/104]\n",
	         "t.conf:10: '::ffff:10.0.0.1/104': bits behind /104 are set; is "
	         "::ffff:10.0.0.0/104 meant?\n"},
		{TWO_NICS "[peer 10.0.0.0/33]\n",
	         "t.conf:10: '10.0.0.0/33' is not a prefix such as 10.0.0.0/8 or fd00::/16\n"},
		{TWO_NICS "[peer 10.0.0.0/ 8]\n",
	         "t.conf:10: the section is written [peer PREFIX]\n"},
		{TWO_NICS "[peer 10.0.0.0/8]\n[peer 10.0.0.0/8]\n",
	         "t.conf:11: section [peer 10.0.0.0/8] began at line 10 already\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *errors;
		struct conf *conf = read_text(rows[i].text, &errors);
		const char *line = errors;
		char got[1024] = "";

		/* Without the folder, which is the same everywhere. */
		for (; (line = strstr(line, "dir/")); line += 4)
			strncat(got, line + 4, strcspn(line + 4, "\n") + 1);
		if (rows[i].want) {
			cr_expect_null(conf, "row %zu", i);
			cr_expect_str_eq(got, rows[i].want, "row %zu: %s", i, got);
		} else {
			/* Two mistakes of another kind: no port, no ip. */
			cr_expect_not_null(strstr(got, "has no port"), "row %zu: %s", i, got);
			cr_expect_not_null(strstr(got, "has no ip"), "row %zu: %s", i, got);
		}
		conf_free(conf);
		free(errors);
	}
}

Test(conf, a_file_has_at_most_1_MiB)
{
	enum { MAX = 1 << 20 };
	char *text = malloc(MAX + 2), *errors;
	struct conf *conf;

	/* Comments, the last one without an end of its line. */
	memset(text, '#', MAX + 1);
	memcpy(text, TWO_NICS, strlen(TWO_NICS));
	text[MAX] = '\0';
	conf_free(read_good(text));
	text[MAX] = '#';
	text[MAX + 1] = '\0';
	conf = read_text(text, &errors);
	cr_expect_null(conf);
	cr_expect_str_eq(errors, "dir/t.conf: more than 1048576 bytes: not a conf file\n");
	free(errors);
	free(text);
}

Test(conf, a_file_without_end_is_one_mistake, .timeout = 20)
{
	static const char *const paths[] = {"/dev/zero", "/dev/urandom"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		char *errors, want[100];
		size_t size;
		FILE *out = open_memstream(&errors, &size);

		cr_expect_null(conf_read(paths[i], out));
		fclose(out);
		snprintf(want, sizeof(want), "%s: more than 1048576 bytes: not a conf file\n",
		         paths[i]);
		cr_expect_str_eq(errors, want);
		free(errors);
	}
}

Test(conf, mistakes_of_a_nic)
{
	static const struct {
		const char *key;
		const char *want; /* NULL = none */
	} rows[] = {
		{"mtu = 4200", NULL},
		{"mtu = 9K", NULL},
		{"mtu = 9217", "mtu = 9217: out of range (576 to 9K)"},
		{"mtu = 12Q", "mtu = 12Q: not a size (unit K, M, G or T, in bytes)"},
		{"rate = 25G  # fast", NULL},
		{"rate = 25G;slow", "rate = 25G;slow: not a rate (such as 100G, 100Gbps, 100Gb/s "
	                            "or 100Gbit/s; K, M, G or T)"},
		{"base_rtt = 5", "base_rtt = 5: needs a unit of time (ns, us, ms, s, min)"},
		{"vlan = 4095", "vlan = 4095: out of range (0 to 4094)"},
		{"pfc = 1", "pfc '1' is neither yes nor no"},
		{"pfc_watchdog = 11s", "pfc_watchdog = 11s: out of range (0 to 10s)"},
		{"traffic_class = 256", "traffic_class = 256: out of range (0 to 255)"},
		{"mac = 02:00:00:00:00:01", NULL},
		{"mac = 01:00:00:00:00:01", "mac '01:00:00:00:00:01' is a group's"},
		{"mac = 2:0:0:0:0:1", "mac '2:0:0:0:0:1' is not of the form 02:00:0a:4d:00:01"},
		{"mac = 02:00:00:00:00:g1",
	         "mac '02:00:00:00:00:g1' is not of the form 02:00:0a:4d:00:01"},
		{"framing = weft", NULL},
		{"framing = auto", NULL},
		{"framing = rocev2", NULL},
		{"framing = roce", "framing 'roce' is none of auto, weft and rocev2"},
		{"reliability = gb", "unknown reliability engine 'gb' (known: gbn)"},
		{"reliability = gbn", NULL},
		{"reliability = none",
	         "[nic n0]: reliability none is that of UC and UD; RC needs another"},
		{"cc = fixt", "unknown cc engine 'fixt' (known: fixed)"},
		{"lb = fixed", NULL},
		{"lb = ecmp", "unknown lb engine of hosts 'ecmp' (known: fixed)"},
		{"fabric = ecn, int", NULL},
		{"fabric =", NULL},
		{"fabric = ecm", "unknown fabric trait 'ecm' (nearest: 'ecn')"},
		{"fault_loss = 1%", NULL},
		{"fault_loss = 50 %", "fault_loss = 50 %: no space before the unit"},
		{"mtu = 9 K", "mtu = 9 K: no space before the unit"},
		{"mtu = 9 Q", "mtu = 9 Q: not a size (unit K, M, G or T, in bytes)"},
		{"fault_loss = 101%", "fault_loss = 101%: out of range (0 to 100%)"},
		{"fault_lost = 1%", "unknown key 'fault_lost' (nearest: 'fault_loss')"},
		{"prt = x", "unknown key 'prt' (nearest: 'port')"},
		{"port = ring:b", "key 'port' was set at line 2 already"},
		{"ip = 10.0.0.9", NULL},
		{"ip = 10.0.0.1", "[nic n0] has an ip that [nic n0] has at line 3"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512], want[512] = "";

		/* The key stands in line 4. */
		snprintf(text, sizeof(text),
		         "[nic n0]\nport = ring:a\nip = 10.0.0.1\n%s\n[nic n1]\nport = ring:a\n"
		         "ip = 10.0.0.2\n",
		         rows[i].key);
		if (rows[i].want)
			snprintf(want, sizeof(want), "dir/t.conf:4: %s\n", rows[i].want);
		expect_report(text, rows[i].want == NULL, want, i);
	}
}

Test(conf, mistakes_of_the_whole)
{
	static const struct {
		const char *text;
		const char *want; /* one line of the report */
	} rows[] = {
		{"[nic n0]\nip = 10.0.0.1\n", ":1: [nic n0] has no port\n"},
		{"[nic n0]\nport = ring:a\n", ":1: [nic n0] has no ip\n"},
		{"[nic n0]\nport = ring:a\nip =\n", ":3: ip is empty\n"},
		{"[switch s]\n", ":1: [switch s] has no ports\n"},
		{"[nic n0]\nport = ring:a\nip = 10.0.0.1\n",
	         ":2: ring 'a' has only one end, [nic n0]\n"},
		{TWO_NICS "[nic n2]\nport = ring:a\nip = 10.0.0.3\n",
	         ":8: ring 'a' has more than two ends: [nic n0], [nic n2], [switch s]\n"},
		{"[switch s]\nports = ring:a ring:a\n",
	         ":2: ring 'a' joins [switch s] with itself\n"},
		{TWO_NICS "[switch n0]\nports = ring:c\n",
	         ":10: [switch n0] has the name of [nic n0] at line 1\n"},
		{TWO_NICS "[nic n2]\nport = ring:c\nip = 10.0.0.1\n",
	         ":12: [nic n2] has an ip that [nic n0] has at line 3\n"},
		{TWO_NICS "[nic n2]\nport = ring:c\nip = fd00::2\n",
	         ":12: [nic n2] has an ip that [nic n1] has at line 6\n"},
		{TWO_NICS "[nic n2]\nport = ring:c\nip = 10.1.0.1 10.1.0.1\n",
	         ":12: [nic n2] has an ip that [nic n2] has at line 12\n"},
		{TWO_NICS "[nic n2]\nport = tape:x\nip = 10.1.0.1\n",
	         ":11: port 'tape:x' is none of ring:NAME, "
	         "link:SOCKET, af_packet:INTERFACE, af_xdp:INTERFACE, memif:SOCKET,ROLE, "
	         "pci:ADDRESS\n"},
		{"[nic n0]\nport = memif:/x\n",
	         ":2: memif '/x': an absolute path of at most 107 characters, and ',server' or "
	         "',client', please\n"},
		{"[nic n0]\nport = memif:x,server\n", ":2: memif 'x,server': an absolute path of"},
		{"[nic n0]\nport = pci:0000:03\n",
	         ":2: '0000:03' is not a PCI address as lspci shows it: 0000:03:00.0\n"},
		{"[nic n0]\nport = pci:ffff:ff:1f.7\n",
	         ":2: no PCI device ffff:ff:1f.7 here; network devices: "},
		{"[nic n0]\nport = af_packet:\n", ":2: '' cannot be the name of an interface\n"},
		{"[nic n0]\nport = af_packet:sixteen-letters-\n",
	         ":2: 'sixteen-letters-' cannot be the name of an interface\n"},
		{"[nic n0]\nport = af_packet:no-such-one\n",
	         ":2: no interface no-such-one here; there are: "},
		{"[switch s]\nports = af_packet:no-such-one\n",
	         ":2: no interface no-such-one here; there are: "},
		{"[switch s]\nports = memif:/x,server memif:/x,client memif:/x,server\n",
	         ":2: /x has the port of line 2 already: one port per end of a memif\n"},
		{"[switch s]\nports = af_packet:no-such-one af_xdp:no-such-one\n",
	         ":2: no-such-one has the port of line 2 already: one port per interface\n"},
		{"[nic n0]\nport = af_packet:lo\n", ":2: lo is not an Ethernet interface\n"},
		{"[nic n0]\nport = af_packet:lo\nip = 10.0.0.1\n",
	         ":3: [nic n0] has the addresses of lo: no ip here\n"},
		{"[nic n0]\nport = af_packet:lo\nmac = 02:00:00:00:00:01\n",
	         ":3: [nic n0] has the MAC of lo: no mac here\n"},
		{TWO_NICS "[nic n2]\nport = link:\nip = 10.1.0.1\n",
	         ":11: link '': 1 to 31 characters\n"},
		{TWO_NICS "[nic n2]\nport = link:x/y\nip = 10.1.0.1\n",
	         ":11: link 'x/y': letters, digits, '_', '-' and '.' only, or an absolute path\n"},
		{TWO_NICS "[nic n2]\nport = link:/x/\nip = 10.1.0.1\n",
	         ":11: link '/x/': a path of a socket, of at most 107 characters, please\n"},
		{"[switch s]\nports = link:a link:b link:a\n",
	         ":2: link 'a' joins [switch s] with itself\n"},
		{"[switch s]\nports = link:a\n[switch t]\nports = link:a\n"
	         "[nic n0]\nport = link:a\nip = 10.0.0.1\n",
	         ":4: link 'a' has more than two ends: [nic n0], [switch s], [switch t]\n"},
		{TWO_NICS "[nic n2]\nport = ring:\nip = 10.1.0.1\n",
	         ":11: ring '': 1 to 31 characters\n"},
		{TWO_NICS "[nic n2]\nport = ring:c\nip = ::ffff:127.0.0.1\n",
	         ":12: '::ffff:127.0.0.1' is not an address of a host\n"},
		{TWO_NICS "[nic n2]\nport = ring:c\nip = 224.0.0.1\n",
	         ":12: '224.0.0.1' is not an address of a host\n"},
		{TWO_NICS "[nic n2]\nport = ring:c\nip = 10.1.0\n",
	         ":12: '10.1.0' is not an address of a host\n"},
		{TWO_NICS "[nic n2]\nport = ring:c\nip = 10.1.0.1/24\n",
	         ":12: '10.1.0.1/24': without a prefix length, please: there is no routing\n"},
		{TWO_NICS "[nic n2]\nport = ring:c\nip = x/24\n",
	         ":12: 'x/24' is not an address of a host\n"},
		{"[nic n0]\nport = ring:a\nip = 10.0.0.1\nmac = 02:00:00:00:00:01\n"
	         "[nic n1]\nport = ring:a\nip = 10.0.0.2\nmac = 02:00:00:00:00:01\n",
	         ":8: [nic n1] has the mac of [nic n0] at line 4\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *errors;
		struct conf *conf = read_text(rows[i].text, &errors);

		cr_expect_null(conf, "row %zu", i);
		cr_expect_not_null(strstr(errors, rows[i].want), "row %zu: %s", i, errors);
		conf_free(conf);
		free(errors);
	}
}

Test(conf, what_this_machine_has_not_is_told_with_its_line)
{
	const char *uffd = "/dev/userfaultfd";
	char uffd_error[256] = "";
	const struct {
		const char *keys; /* from line 11 on */
		const char *want; /* "" = good */
	} rows[] = {
		{"group = root", ""},
		{"group = no-such-group",
	         "dir/t.conf:11: group 'no-such-group': there is no such group\n"},
		{"group =", "dir/t.conf:11: group '': there is no such group\n"},
		{"idle = sleep\nuserfaultfd = yes", uffd_error},
		{"userfaultfd = no", ""},
		{"userfaultfd = 1", "dir/t.conf:11: userfaultfd '1' is neither yes nor no\n"},
	};

	if (geteuid() != 0)
		cr_skip("group = root is refused to others");
	if (access(uffd, R_OK | W_OK) < 0)
		snprintf(uffd_error, sizeof(uffd_error),
		         "dir/t.conf:12: userfaultfd = yes: %s: %s\n", uffd, strerror(errno));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512], *errors;
		struct conf *conf;

		snprintf(text, sizeof(text), TWO_NICS "[daemon]\n%s\n", rows[i].keys);
		conf = read_text(text, &errors);
		cr_expect_str_eq(errors, rows[i].want, "row %zu: %s", i, errors);
		cr_expect_eq(conf != NULL, !rows[i].want[0], "row %zu", i);
		if (conf && i == 0)
			cr_expect_eq(conf->daemon.gid, 0);
		if (conf && i == 3)
			cr_expect(conf->daemon.userfaultfd);
		conf_free(conf);
		free(errors);
	}
}

Test(conf, more_packets_than_there_is_memory_are_refused_with_their_line)
{
	struct sysinfo info;
	char *errors;

	/* 4194304 packets of 9 KB are 38 GB. */
	if (sysinfo(&info) < 0 || (info.totalram * info.mem_unit) >> 30 >= 38)
		cr_skip("there is enough");
	cr_expect_null(read_text(TWO_NICS "[daemon]\npackets = 4194304\n[nic n2]\nport = ring:c\n"
	                                  "ip = 10.1.0.1\nmtu = 9216\n[switch t]\n"
	                                  "ports = ring:c\n",
	                         &errors));
	cr_expect_not_null(strstr(errors, "dir/t.conf:11: packets = 4194304 need 39"), "%s",
	                   errors);
	free(errors);
}

Test(conf, hugepages_must_be_there)
{
	char *errors;
	/* More than most machines have. */
	struct conf *conf =
		read_text(TWO_NICS "[daemon]\nhugepages = yes\npackets = 4194304\n", &errors);

	if (conf)
		cr_expect(conf->daemon.hugepages);
	else
		cr_expect_eq(strncmp(errors, "dir/t.conf:11: hugepages = yes: packets need ", 45),
		             0, "%s", errors);
	conf_free(conf);
	free(errors);
}

Test(conf, a_socket_path_that_is_too_long_is_told)
{
	char folder[256], *errors;

	/* 107 characters are the most: /.../n.sock */
	memset(folder, 'a', sizeof(folder));
	folder[0] = '/';
	folder[107 - strlen("/n.sock")] = '\0';
	setenv("WEFT_RUNTIME_DIR", folder, 1);
	conf_free(read_good(TWO_NICS "[daemon]\nname = n\n"));
	cr_expect_null(read_text(TWO_NICS "[daemon]\nname = nn\n", &errors));
	cr_expect_str_eq(errors,
	                 "dir/t.conf:11: the path of the socket of daemon 'nn' is longer than 107 "
	                 "characters\n",
	                 "%s", errors);
	free(errors);
	/* The file's name makes that of the socket. */
	folder[strlen(folder) - 1] = '\0';
	setenv("WEFT_RUNTIME_DIR", folder, 1);
	conf_free(read_good(TWO_NICS));
	memset(folder + strlen(folder), 'a', 2);
	setenv("WEFT_RUNTIME_DIR", folder, 1);
	cr_expect_null(read_text(TWO_NICS, &errors));
	cr_expect_str_eq(errors,
	                 "dir/t.conf: the path of the socket of daemon 't' is longer than 107 "
	                 "characters\n",
	                 "%s", errors);
	free(errors);
}

Test(conf, a_relative_folder_of_sockets_is_told)
{
	char *errors;

	setenv("WEFT_RUNTIME_DIR", "run/weft", 1);
	cr_expect_null(read_text(TWO_NICS, &errors));
	cr_expect_str_eq(errors, "environment: WEFT_RUNTIME_DIR=run/weft is not an absolute path\n",
	                 "%s", errors);
	free(errors);
}

Test(conf, nics_that_reach_each_other_with_different_path_MTUs_are_a_warning)
{
	static const struct {
		const char *ring; /* of n1; the switch has a and b */
		uint32_t vlan;    /* of n1; n0 has none */
		uint32_t mtu0, mtu1;
		const char *want; /* "" = none */
	} rows[] = {
		{"b", 0, 4200, 4200, ""},
		{"b", 0, 4180, 9216, ""},
		{"b", 0, 4180, 4179,
	         "dir/t.conf:6: warning: [nic n1] has path MTU 2048 (mtu 4179), and [nic n0], "
	         "which it reaches, 4096 (mtu 4180)\n"},
		{"b", 0, 576, 1500,
	         "dir/t.conf:6: warning: [nic n1] has path MTU 1024 (mtu 1500), and [nic n0], "
	         "which it reaches, 256 (mtu 576)\n"},
		{"c", 0, 4200, 1500, ""}, /* on another switch */
		{"b", 7, 4200, 1500, ""}, /* in another VLAN */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];

		snprintf(text, sizeof(text),
		         "[nic n0]\nport = ring:a\nip = 10.0.0.1\nmtu = %u\nframing = rocev2\n"
		         "[nic n1]\nport = ring:%s\nip = 10.0.0.2\nmtu = %u\nvlan = %u\n"
		         "framing = rocev2\n"
		         "[switch s]\nports = ring:a%s\n%s",
		         rows[i].mtu0, rows[i].ring, rows[i].mtu1, rows[i].vlan,
		         rows[i].ring[0] == 'b' ? " ring:b" : "",
		         rows[i].ring[0] == 'b' ? "" : "[switch t]\nports = ring:c\n");
		expect_report(text, true, rows[i].want, i);
	}
}

Test(conf, says_all_that_it_finds_and_goes_on)
{
	static const char text[] = "x = 1\n"
				   "[nic n0]\n"
				   "mtu = 1\n"
				   "prt = 1\n"
				   "[bad]\n"
				   "ignored = 1\n"
				   "[switch s]\n"
				   "ports = ring:a pci:1\n";
	char *errors;
	struct conf *conf = read_text(text, &errors);
	uint32_t lines = 0;

	cr_expect_null(conf);
	for (const char *p = errors; *p; p++)
		lines += *p == '\n';
	/* 1, 3, 4, 5, 8, no port, no ip; the one end may belong to [bad] */
	cr_expect_eq(lines, 7, "%s", errors);
	free(errors);
}

Test(conf, a_line_is_never_cut)
{
	static const struct {
		const char *line; /* %*s are blanks */
		int blanks;
		const char *want; /* NULL = good */
	} rows[] = {
		/* 199 characters are what libinih takes, without blanks at the ends and comments.
	         */
		{"mtu =%*s4200\n", 190, NULL},
		{"mtu =%*s4200\n", 191,
	         "dir/t.conf:4: a line of more than 199 characters; a list goes on in another "
	         "line with the same key\n"},
		{"mtu =%*s4200\n", 1000,
	         "dir/t.conf:4: a line of more than 199 characters; a list goes on in another "
	         "line with the same key\n"},
		{"#%*s\n", 1000, NULL},
		{"mtu = 4200%*s# why\n", 1000, NULL},
		{"%*smtu = 4200\n", 1000, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[2048];
		int n = sprintf(text, "[nic n0]\nport = ring:a\nip = 10.0.0.1\n");

		n += sprintf(text + n, rows[i].line, rows[i].blanks, "");
		sprintf(text + n, "[nic n1]\nport = ring:a\nip = 10.0.0.2\n");
		expect_report(text, rows[i].want == NULL, rows[i].want ? rows[i].want : "", i);
	}
}

/* A switch with so many ports on lines of their own and as many NICs. */
static char *
many_ports(uint32_t nb, uint32_t per_line)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (uint32_t i = 0; i < nb; i++) {
		/* Half of them on a second switch: there may be 32 NICs. */
		if (i < CONF_MAX_NICS)
			fprintf(f,
			        "[nic n%u]\nport = ring:link-of-a-long-name-%u\nip = 10.0.0.%u\n",
			        i, i, i + 1);
		else
			fprintf(f, "[switch t%u]\nports = ring:link-of-a-long-name-%u\n", i, i);
	}
	fprintf(f, "[switch s]");
	for (uint32_t i = 0; i < nb; i++)
		fprintf(f,
		        i % per_line ? ", ring:link-of-a-long-name-%u"
		                     : "\nports = ring:link-of-a-long-name-%u",
		        i);
	fputc('\n', f);
	fclose(f);
	return text;
}

Test(conf, a_list_goes_on_in_lines_with_the_same_key)
{
	char *text = many_ports(40, 6), *errors;
	struct conf *conf = read_good(text);
	const struct conf_switch *sw = &conf->switches[conf->nb_switches - 1];

	cr_expect_eq(sw->nb_ports, 40);
	for (uint32_t i = 0; i < sw->nb_ports; i++) {
		char ring[WEFT_NAME_LEN];

		snprintf(ring, sizeof(ring), "link-of-a-long-name-%u", i);
		cr_expect_str_eq(sw->ports[i].arg, ring);
		cr_expect_eq(sw->ports[i].line, sw->line + 1 + i / 6);
	}
	conf_free(conf);
	free(text);

	/* A line of seven is too long, and says so; nothing is taken from it. */
	text = many_ports(20, 7);
	cr_expect_null(read_text(text, &errors));
	cr_expect_not_null(strstr(errors, "a line of more than 199 characters"), "%s", errors);
	free(errors);
	free(text);

	conf = read_good("[nic n0]\nport = ring:a\nip = 10.0.0.1\nip = 10.0.0.2 fd00::1\n"
	                 "fabric = ecn\nfabric = int\n"
	                 "[nic n1]\nport = ring:a\nip = 10.0.0.3\n");
	cr_expect_eq(conf->nics[0].nb_ips, 3);
	cr_expect_eq(conf->nics[0].bind.fabric, TRAIT_ECN | TRAIT_INT);
	conf_free(conf);
}

Test(conf, a_port_in_a_list_may_have_a_comma_in_it)
{
	struct conf *conf = read_good("[switch s]\n"
	                              "ports = memif:/a,server memif:/b,client,memif:/c,server, "
	                              "memif:/d,client\n");
	static const struct {
		const char *path;
		bool is_server;
	} want[] = {{"/a", true}, {"/b", false}, {"/c", true}, {"/d", false}};

	cr_assert_eq(conf->switches[0].nb_ports, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct conf_port *port = &conf->switches[0].ports[i];

		cr_expect_eq(port->kind, PORT_MEMIF);
		cr_expect_str_eq(port->arg, want[i].path);
		cr_expect_eq(port->is_server, want[i].is_server);
	}
	conf_free(conf);
}

Test(conf, blanks_comments_and_line_ends_do_not_matter)
{
	static const char text[] = "\xef\xbb\xbf[nic n0]\r\n"
				   "\r\n"
				   "   port=ring:a   ; why\r\n"
				   "\t ip\t=\t10.0.0.1,10.0.0.3\t# two\r\n"
				   "   # nothing\r\n"
				   " [ nic\tn1 ] # second\r\n"
				   "ip = 10.0.0.2\r\n"
				   "port = ring:a";
	struct conf *conf = read_good(text);

	cr_expect_eq(conf->nb_nics, 2);
	cr_expect_eq(conf->nics[0].nb_ips, 2);
	cr_expect_str_eq(conf->nics[0].port.arg, "a");
	cr_expect_str_eq(conf->nics[1].name, "n1");
	conf_free(conf);
}

Test(conf, what_is_not_said_has_its_default)
{
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
	struct conf *conf = read_good(TWO_NICS);
	const struct conf_nic *nic = &conf->nics[0];

	cr_expect_str_eq(conf->daemon.name, "t");
	cr_expect_eq(conf->daemon.gid, (gid_t)-1);
	cr_expect_not(conf->daemon.userfaultfd);
	cr_expect_eq(conf->daemon.num.packets, 8191);
	cr_expect_not(conf->daemon.hugepages);
	cr_expect_not(conf->daemon.poll);
	cr_expect_eq(conf->nb_nics, 2);
	cr_expect_eq(conf->nb_switches, 1);
	cr_expect_eq(conf->switches[0].nb_ports, 2);
	cr_expect_str_eq(conf->switches[0].ports[1].arg, "b");
	cr_expect_eq(conf->switches[0].fabric.params.macs_max, 4096);
	cr_expect_str_eq(nic->name, "n0");
	cr_expect_eq(nic->nb_ips, 1);
	cr_expect_eq(memcmp(nic->ips[0].b, v4, 16), 0);
	cr_expect_eq(nic->num.mtu, 4200);
	cr_expect_eq(nic->num.rate_bps, UINT64_C(100000000000));
	cr_expect_eq(nic->num.base_rtt_ns, 10000);
	cr_expect_not(nic->has_traffic_class);
	cr_expect(nic->pfc);
	cr_expect_eq(nic->num.pfc_watchdog_ns, 100000000);
	cr_expect_not(nic->has_fault);
	cr_expect_eq(nic->bind.framing, FRAMING_WISH_DEFAULT);
	cr_expect_str_eq(nic->bind.set.rel->info.name, "gbn");
	cr_expect_str_eq(nic->bind.set.cc->info.name, "fixed");
	cr_expect_str_eq(nic->bind.set.lb->info.name, "fixed");
	cr_expect_eq(nic->bind.fabric, TRAITS_FABRIC);
	conf_free(conf);
}

Test(conf, macs_are_local_unique_and_the_same_each_time)
{
	struct conf *a = read_good(TWO_NICS), *b = read_good(TWO_NICS);

	cr_expect_eq(memcmp(a->nics[0].mac, b->nics[0].mac, 6), 0);
	cr_expect_neq(memcmp(a->nics[0].mac, a->nics[1].mac, 6), 0);
	cr_expect_eq(a->nics[0].mac[0] & 3, 2);
	conf_free(a);
	conf_free(b);
}

Test(conf, faults_and_engine_parameters_are_read)
{
	static const char text[] =
		"[engine gbn]\nrenak = 4us\n[engine fixed]\nrate = 10G\n"
		"[nic n0]\nport = ring:a\nip = 10.0.0.1\nfault_loss = 1%\n"
		"fault_rx_delay = 3us\nfault_seed = 7\ntraffic_class = 0\n"
		"pfc = no\npfc_watchdog = 0\n"
		"[nic n1]\nport = ring:a\nip = 10.0.0.2\nfault_reorder_pkts = 3\n";
	struct conf *conf = read_good(text);
	const struct conf_nic *nic = &conf->nics[0];
	uint64_t renak;

	cr_expect(nic->has_fault);
	cr_expect_eq(nic->fault.tx.ppm[FAULT_LOSS], 10000);
	cr_expect_eq(nic->fault.rx.delay_ns, 3000);
	cr_expect_eq(nic->fault.seed, 7);
	cr_expect(nic->has_traffic_class);
	cr_expect_not(nic->pfc);
	cr_expect_eq(nic->num.pfc_watchdog_ns, 0);
	cr_expect(conf->nics[1].pfc);
	cr_expect_not(conf->nics[1].has_fault, "nothing is held back");
	memcpy(&renak, conf_params(conf, &nic->bind.set.rel->info), sizeof(renak));
	cr_expect_eq(renak, 4000);
	conf_free(conf);
}

Test(conf, a_port_of_a_switch_has_a_section)
{
	static const char text[] = "[switch s]\nports = ring:a ring:b, link:h0\n"
				   "[port link:h0]\nfault_loss = 1%\n"
				   "[switch t]\nports = ring:b ring:c\n"
				   "[port ring:b]\nfault_pattern = 01\nfault_seed = 5\n"
				   "[port ring:c]\n"
				   "[nic n0]\nport = ring:a\nip = 10.0.0.1\n"
				   "[nic n1]\nport = ring:c\nip = 10.0.0.2\n";
	struct conf *conf = read_good(text);
	const struct conf_port_settings *s = conf->switches[0].settings;
	const struct conf_port_settings *t = conf->switches[1].settings;

	cr_expect_not(s[0].has_fault);
	cr_expect_eq(s[0].fault.tx.reorder_pkts, 8, "defaults without a section, too");
	cr_expect(s[2].has_fault);
	cr_expect_eq(s[2].fault.tx.ppm[FAULT_LOSS], 10000);
	cr_expect(s[1].has_fault && t[0].has_fault, "each end sends one direction");
	cr_expect_eq(s[1].fault.tx.pattern.nb_bits, 2);
	cr_expect_eq(t[0].fault.tx.pattern.nb_bits, 2);
	cr_expect_eq(s[1].fault.seed, 5);
	cr_expect_eq(t[0].fault.seed, 6, "dice of its own");
	cr_expect_not(t[1].has_fault);
	conf_free(conf);
}

Test(conf, mistakes_of_a_port_section)
{
	static const struct {
		const char *text;
		const char *want; /* all that is told, of TWO_NICS and this from line 10 on */
	} rows[] = {
		{"[port ring:a]\n", NULL},
		{"[port ring:a]\nfault_rx_loss = 1%\n", NULL},
		{"[port ring:x]\n",
	         ":10: unknown port of a switch above 'ring:x' (nearest: 'ring:a')\n"},
		{"[port link:sock]\n", ":10: unknown port of a switch above 'link:sock'\n"},
		{"[port a]\n", ":10: port 'a' is none of ring:NAME, link:SOCKET, "
	                       "af_packet:INTERFACE, af_xdp:INTERFACE, memif:SOCKET,ROLE, "
	                       "pci:ADDRESS\n"},
		{"[port]\n", ":10: the section is written [port PORT]\n"},
		{"[port ring:a]\n[port ring:a]\n",
	         ":11: section [port ring:a] began at line 10 already\n"},
		{"[port ring:a]\nmtu = 1500\n", ":11: unknown key 'mtu'\n"},
		{"[port ring:a]\nfault_los = 1\n",
	         ":11: unknown key 'fault_los' (nearest: 'fault_loss')\n"},
		{"[port ring:a]\nfault_down = 1\n", ":11: fault_down = 1: neither yes nor no\n"},
		{"[port ring:a]\nfault_pattern = 2\n",
	         ":11: fault_pattern = 2: 1 to 64 digits 0 and 1, please\n"},
		{"[port memif:/x/y]\n",
	         ":10: memif '/x/y': an absolute path of at most 107 characters, and ',server' or "
	         "',client', please\n"},
		{"[switch u]\nports = memif:/x/y,server\n[port memif:/x/z,server]\n",
	         ":12: unknown port of a switch above 'memif:/x/z,server' (nearest: "
	         "'memif:/x/y,server')\n"},
		/* The switch comes too late. */
		{"[port link:z]\n[switch u]\nports = link:z\n",
	         ":10: unknown port of a switch above 'link:z'\n"},
		/* A switch that was skipped: what refers to it is not told. */
		{"[switsh u]\nports = link:z\n[port link:z]\n",
	         ":10: unknown section 'switsh' (nearest: 'switch')\n"},
		/* One direction is that which the other end sends. */
		{"ports = ring:c\n[switch u]\nports = ring:c\n[port ring:c]\n"
	         "fault_rx_loss = 1%\nhosts = 10.1.0.0/16\n",
	         ":13: [port]: it joins [switch s] and [switch u]: fault_... holds for both "
	         "directions, and no fault_rx_... is needed\n"
	         "dir/t.conf:15: [port ring:c] leads to another switch: hosts are known there\n"},
		/* All that are wrong are told. */
		{"[port ring:y]\n[queue s/8]\n[queue t/1]\n[port ring:z]\n",
	         ":10: unknown port of a switch above 'ring:y' (nearest: 'ring:a')\n"
	         "dir/t.conf:11: [queue s/8]: the name of a switch, '/', and 0 to 7, please\n"
	         "dir/t.conf:12: unknown switch above 't'\n"
	         "dir/t.conf:13: unknown port of a switch above 'ring:z' (nearest: 'ring:a')\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[1024], want[512] = "";

		snprintf(text, sizeof(text), "%s%s", TWO_NICS, rows[i].text);
		if (rows[i].want)
			snprintf(want, sizeof(want), "dir/t.conf%s", rows[i].want);
		expect_report(text, rows[i].want == NULL, want, i);
	}
}

Test(conf, the_shipped_files_are_good_and_say_the_defaults)
{
	static const char *const files[] = {"loopback",    "daemon",      "switch",
	                                    "three/host0", "three/host1", "three/switch"};
	const char *root = getenv("WEFT_SOURCE_ROOT");
	struct conf *plain = read_good(TWO_NICS);

	cr_assert_not_null(root);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const char *slash = strchr(files[i], '/');
		char path[512];
		struct conf *conf;

		snprintf(path, sizeof(path), "%s/conf/%s.conf", root, files[i]);
		conf = conf_read(path, stderr);
		cr_assert_not_null(conf, "%s", path);
		cr_expect_str_eq(conf->daemon.name, slash ? slash + 1 : files[i]);
		cr_expect_eq(
			memcmp(&conf->daemon.num, &plain->daemon.num, sizeof(plain->daemon.num)), 0,
			"%s", path);
		for (uint32_t n = 0; n < conf->nb_nics; n++) {
			cr_expect_eq(memcmp(&conf->nics[n].num, &plain->nics[0].num,
			                    sizeof(plain->nics[0].num)),
			             0, "%s", path);
			cr_expect_eq(memcmp(&conf->nics[n].fault, &plain->nics[0].fault,
			                    sizeof(plain->nics[0].fault)),
			             0, "%s", path);
		}
		for (uint32_t n = 0; n < conf->nb_switches; n++)
			cr_expect_eq(memcmp(&conf->switches[n].fabric.params,
			                    &plain->switches[0].fabric.params,
			                    sizeof(plain->switches[0].fabric.params)),
			             0, "%s", path);
		for (uint32_t n = 0; n < conf->nb_switches; n++)
			cr_expect_eq(memcmp(&conf->switches[n].settings[0],
			                    &plain->switches[0].settings[1],
			                    offsetof(struct conf_port_settings, has_fault)),
			             0, "%s", path);
		for (uint32_t n = 0; n < conf->nb_switches; n++)
			cr_expect_eq(memcmp(conf->switches[n].fabric.queues,
			                    plain->switches[0].fabric.queues,
			                    sizeof(plain->switches[0].fabric.queues)),
			             0, "%s", path);
		conf_free(conf);
	}
	conf_free(plain);
}

Test(conf, a_missing_file_is_an_error)
{
	char *errors;
	size_t size;
	FILE *out = open_memstream(&errors, &size);

	cr_expect_null(conf_read("/no/such.conf", out));
	fclose(out);
	cr_expect_str_eq(errors, "weftd: /no/such.conf: No such file or directory\n");
	free(errors);
}

Test(conf, more_nodes_than_there_is_room_for_are_told_once)
{
	static const struct {
		const char *format;
		uint32_t nb;
		const char *want;
	} rows[] = {
		{"[nic n%u]\nport = link:n%u\nip = 10.0.0.%u\n", CONF_MAX_NICS + 2,
	         "dir/t.conf:97: more than 32 NICs\n"},
		{"[switch s%u]\nports = link:s%u\nmtu = 15%02u\n", CONF_MAX_SWITCHES + 2,
	         "dir/t.conf:49: more than 16 switches\n"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[4096], *errors;
		size_t len = 0;

		for (uint32_t n = 1; n <= rows[i].nb; n++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, rows[i].format, n,
			                        n, n);
		cr_expect_null(read_text(text, &errors), "row %zu", i);
		cr_expect_str_eq(errors, rows[i].want, "row %zu: %s", i, errors);
		free(errors);
	}
}
