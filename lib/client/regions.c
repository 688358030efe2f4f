/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "advice.h"
#include "client.h"
#include "memkind.h"

static int
create(struct weft_mr *mr, struct weft *weft, const struct client_region *region)
{
	const uint32_t writes = SHM_ACCESS_LOCAL_WRITE;
	const uint32_t remote_writes = SHM_ACCESS_REMOTE_WRITE | SHM_ACCESS_REMOTE_ATOMIC;
	struct ctl_mr msg = {
		.pd = region->pd,
		.access = region->access,
		.va = region->va,
		.length = region->length,
		.iova = region->iova,
	};
	struct mem_use *use;
	int err;

	/* Source: IBA vol. 1, ch. 10.6.3.1: remote writes need local write access. */
	if (region->length == 0 || ((region->access & remote_writes) && !(region->access & writes)))
		return -EINVAL;
	if (region->length > weft->info.max_mr_size)
		return -ENOMEM;
	err = memkind_map(weft, region->va, region->length, region->access & writes, msg.seg,
	                  &msg.nb_segs, &use);
	if (err)
		return err;
	err = ctl_call(weft, CTL_REG_MR, &msg, sizeof(msg), sizeof(msg), NULL, 0);
	if (err) {
		memkind_unmap(use);
		return err;
	}
	*mr = (struct weft_mr){.weft = weft, .key = msg.key, .use = use};
	return 0;
}

int
client_mr_init(struct weft_mr *mr, struct weft *weft, const struct client_region *region)
{
	int err = create(mr, weft, region);

	if (err)
		advice_registration(weft, region, err);
	return err;
}

int
client_mr_fini(struct weft_mr *mr)
{
	int err = client_gone_ok(ctl_call_handle(mr->weft, CTL_DEREG_MR, mr->key));

	if (!err)
		memkind_unmap(mr->use);
	return err;
}

int
client_mw_init(struct weft *weft, uint32_t pd, uint32_t type, uint32_t *key)
{
	struct ctl_mw msg = {.pd = pd, .type = type};
	int err = ctl_call(weft, CTL_ALLOC_MW, &msg, sizeof(msg), sizeof(msg), NULL, 0);

	*key = msg.key;
	return err;
}
