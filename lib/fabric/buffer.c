/* SPDX-License-Identifier: BSD-3-Clause */
#include "buffer.h"

bool
buffer_take_lossless(struct buffer *b, struct buffer_ingress *in, uint32_t bytes)
{
	uint64_t was = buffer_beyond(in->used_bytes, in->reserve_bytes);
	uint64_t is = buffer_beyond(in->used_bytes + bytes, in->reserve_bytes);

	if (is == 0 || (is <= buffer_pause_threshold(b, in) && is - was <= buffer_shared_free(b))) {
		in->used_bytes += bytes;
		b->shared_used_bytes += is - was;
	} else if (in->headroom_used_bytes + bytes <= in->headroom_bytes) {
		in->headroom_used_bytes += bytes;
	} else {
		return false;
	}
	in->used_pkts++;
	buffer_hold(b, in, bytes);
	return true;
}

void
buffer_give_lossless(struct buffer *b, struct buffer_ingress *in, uint32_t bytes)
{
	uint64_t from_headroom = bytes < in->headroom_used_bytes ? bytes : in->headroom_used_bytes;
	uint64_t was = buffer_beyond(in->used_bytes, in->reserve_bytes);

	in->headroom_used_bytes -= from_headroom;
	assert(in->used_bytes >= bytes - from_headroom && in->used_pkts > 0);
	in->used_pkts--;
	in->used_bytes -= bytes - from_headroom;
	b->shared_used_bytes -= was - buffer_beyond(in->used_bytes, in->reserve_bytes);
	buffer_let_go(b, in, bytes);
}

/* Between the two thresholds it stays as it is, so that pause and resume alternate. */
bool
buffer_ingress_asks(const struct buffer *b, struct buffer_ingress *in)
{
	uint64_t shared = buffer_beyond(in->used_bytes, in->reserve_bytes);
	uint64_t threshold = buffer_pause_threshold(b, in), pkts = in->used_pkts;
	uint64_t threshold_pkts = buffer_free_pkts(b) / in->beta_dt;

	if (in->headroom_used_bytes > 0 || (shared > 0 && shared >= threshold) ||
	    (pkts > 0 && pkts >= threshold_pkts))
		in->is_paused = true;
	else if ((shared == 0 || shared + BUFFER_RESUME_GAP_BYTES <= threshold) &&
	         (pkts == 0 || pkts + BUFFER_RESUME_GAP_PKTS <= threshold_pkts))
		in->is_paused = false;
	return in->is_paused;
}
