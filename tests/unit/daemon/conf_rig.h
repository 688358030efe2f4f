/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_CONF_RIG_H
#define WEFT_CONF_RIG_H

#include "conf.h"

/** What most rows begin with: 9 lines that are right. */
#define TWO_NICS                                                                                   \
	"[nic n0]\n"                                                                               \
	"port = ring:a\n"                                                                          \
	"ip = 10.0.0.1\n"                                                                          \
	"[nic n1]\n"                                                                               \
	"port = ring:b\n"                                                                          \
	"ip = 10.0.0.2, fd00::2\n"                                                                 \
	"[switch s]\n"                                                                             \
	"ports = ring:a ring:b\n"                                                                  \
	"# comment\n"

/** The conf of a text as the file dir/t.conf, or NULL; what is wrong is the caller's to free. */
struct conf *read_text(const char *text, char **errors);

/** Of a text without a mistake. */
struct conf *read_good(const char *text);

/** A text is a conf or is not, and this is said of it; row is for messages of a failed test. */
void expect_report(const char *text, bool is_good, const char *report, size_t row);

/** The same for head and text. Each line of report is without its "dir/t.conf"; NULL = none. */
void expect_lines(const char *head, const char *text, bool is_good, const char *report, size_t row);

#endif
