/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_LOG_H
#define WEFT_LOG_H

/**
 * @file
 * Lines for an operator: one per event of interest, none per packet.
 *
 * The driver (daemon, laboratory, test) decides where lines go by setting log_fn before it starts
 * threads. Without log_fn nothing is written.
 */

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/** Longest line in bytes, its NUL included; the rest of a longer one is cut. */
#define LOG_LINE_MAX 512

/** Receives each line, without a newline at its end. Called on the thread that logs. */
extern void (*log_fn)(enum log_level level, const char *line);

/** Lines above this level are not formatted. LOG_LEVEL_INFO at first. */
extern enum log_level log_level_max;

/** Write one line; the macros below are how it is called. */
__attribute__((format(printf, 2, 3))) void log_write(enum log_level level, const char *fmt, ...);

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...) log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...) log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
