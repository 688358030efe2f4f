/* SPDX-License-Identifier: BSD-3-Clause */
#include "pcapng.h"

#include <string.h>

/* Block types, section 4 of the draft. */
enum { SECTION = 0x0a0d0d0a, INTERFACE = 1, STATS = 5, PACKET = 6 };
/* Option codes. */
enum {
	OPT_END = 0,
	SHB_USERAPPL = 4,
	IF_NAME = 2,
	IF_TSRESOL = 9,
	EPB_FLAGS = 2,
	ISB_IFRECV = 4,
	ISB_IFDROP = 5,
};

struct block {
	uint8_t *buf;
	size_t len;
};

static void
put(struct block *b, const void *bytes, size_t len)
{
	static const uint8_t zeros[4];

	memcpy(b->buf + b->len, bytes, len);
	b->len += len;
	memcpy(b->buf + b->len, zeros, -len & 3);
	b->len += -len & 3;
}

static void
put32(struct block *b, uint32_t value)
{
	put(b, &value, sizeof(value));
}

/* High half first, whatever the byte order. */
static void
put_time(struct block *b, uint64_t time_ns)
{
	put32(b, (uint32_t)(time_ns >> 32));
	put32(b, (uint32_t)time_ns);
}

static void
put_option(struct block *b, uint16_t code, const void *value, uint16_t len)
{
	const uint16_t head[] = {code, len};

	put(b, head, sizeof(head));
	put(b, value, len);
}

static struct block
begin(uint8_t *buf, uint32_t type)
{
	struct block b = {.buf = buf};

	put32(&b, type);
	put32(&b, 0);
	return b;
}

/* The length stands at both ends. */
static size_t
end(struct block *b)
{
	uint32_t len = (uint32_t)b->len + 4;

	put32(b, len);
	memcpy(b->buf + 4, &len, sizeof(len));
	return b->len;
}

size_t
pcapng_section(uint8_t *buf, const char *application)
{
	static const uint16_t version[] = {1, 0};
	static const int64_t no_length = -1;
	struct block b = begin(buf, SECTION);

	put32(&b, 0x1a2b3c4d);
	put(&b, version, sizeof(version));
	put(&b, &no_length, sizeof(no_length));
	put_option(&b, SHB_USERAPPL, application, (uint16_t)strlen(application));
	put_option(&b, OPT_END, "", 0);
	return end(&b);
}

size_t
pcapng_interface(uint8_t *buf, const char *name, uint32_t snaplen)
{
	static const uint16_t ethernet[] = {1, 0};
	static const uint8_t nanoseconds = 9;
	struct block b = begin(buf, INTERFACE);

	put(&b, ethernet, sizeof(ethernet));
	put32(&b, snaplen);
	put_option(&b, IF_NAME, name, (uint16_t)strlen(name));
	put_option(&b, IF_TSRESOL, &nanoseconds, 1);
	put_option(&b, OPT_END, "", 0);
	return end(&b);
}

size_t
pcapng_packet(uint8_t *buf, uint32_t interface, bool is_out, uint64_t time_ns, const uint8_t *data,
              uint32_t cap_len, uint32_t len)
{
	const uint32_t direction = is_out ? 2 : 1;
	struct block b = begin(buf, PACKET);

	put32(&b, interface);
	put_time(&b, time_ns);
	put32(&b, cap_len);
	put32(&b, len);
	put(&b, data, cap_len);
	put_option(&b, EPB_FLAGS, &direction, sizeof(direction));
	put_option(&b, OPT_END, "", 0);
	return end(&b);
}

size_t
pcapng_stats(uint8_t *buf, uint32_t interface, uint64_t time_ns, uint64_t nb_seen,
             uint64_t nb_dropped)
{
	struct block b = begin(buf, STATS);

	put32(&b, interface);
	put_time(&b, time_ns);
	put_option(&b, ISB_IFRECV, &nb_seen, sizeof(nb_seen));
	put_option(&b, ISB_IFDROP, &nb_dropped, sizeof(nb_dropped));
	put_option(&b, OPT_END, "", 0);
	return end(&b);
}
