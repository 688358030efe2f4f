/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_MAPS_H
#define WEFT_MAPS_H

#include <stdbool.h>
#include <stdint.h>

/** One line of /proc/self/maps. */
struct maps_entry {
	uint64_t lo, hi; /**< addresses, hi exclusive */
	bool read, write, exec, shared;
	uint64_t offset; /**< in the file, bytes */
	uint32_t dev_major, dev_minor;
	uint64_t ino;  /**< 0 = anonymous */
	char name[64]; /**< cut off; "" = none */
};

/** A reader. No allocation, so that it works inside malloc's callees. */
struct maps {
	int fd;
	uint32_t len, pos;
	char buf[8192];
};

/** @return 0 or a negative errno. */
int maps_open(struct maps *maps);
void maps_close(struct maps *maps);
/** The next entry in order of address; false at the end. */
bool maps_next(struct maps *maps, struct maps_entry *entry);

/** Read one line, without its newline; false if it is not one of /proc/PID/maps. */
bool maps_parse(const char *line, struct maps_entry *entry);

#endif
