/* SPDX-License-Identifier: BSD-3-Clause */
#include "kernel_log.h"

#include <stdio.h>
#include <string.h>

#include "event.h"
#include "log.h"

void
kernel_log_iface(const struct nic *nic, const char *ifname, const struct nic_iface *before,
                 const struct nic_iface *now)
{
	const char *name = nic->conf.name;
	const uint8_t *m = now->mac;

	/* That the link went down or up the port sees, too. */
	if (now->ip_mtu_bytes != before->ip_mtu_bytes)
		log_info("%s: MTU %u, path MTU %u", name, now->ip_mtu_bytes,
		         mtu_bytes(nic_mtu_code(nic, now->ip_mtu_bytes)));
	if (memcmp(now->mac, before->mac, sizeof(now->mac)) != 0)
		log_info("%s: %s has MAC %02x:%02x:%02x:%02x:%02x:%02x now", name, ifname, m[0],
		         m[1], m[2], m[3], m[4], m[5]);
}

/* "GID 3, fd00::1 in VLAN 5". */
static void
gid_text(const struct gid_table *t, uint32_t index, char *text, size_t size)
{
	const struct gid *gid = &t->entry[index];
	char ip[IP_ADDR_TEXT];
	int len = snprintf(text, size, "GID %u, %s", index, ip_addr_text(&gid->ip, ip));

	if (gid->vlan)
		snprintf(text + len, size - (size_t)len, " in VLAN %u", gid->vlan);
}

void
kernel_log_gids(const char *name, const struct gid_table *before, const struct gid_table *now)
{
	char text[96];

	for (uint32_t i = 0; i < GID_TABLE_MAX; i++) {
		const struct gid *had = gid_at(before, i), *has = gid_at(now, i);

		if (had && has && gid_is_same(had, has))
			continue;
		if (had) {
			gid_text(before, i, text, sizeof(text));
			event_tell(EVENT_GID, name, "%s has left", text);
		}
		if (has) {
			gid_text(now, i, text, sizeof(text));
			event_tell(EVENT_GID, name, "%s", text);
		}
	}
}
