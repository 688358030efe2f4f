/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_TESTS_FUZZ_H
#define WEFT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "prng.h"

/*
 * What all fuzzers have in common. Each is libFuzzer's entry point and, without -DFUZZ_LIBFUZZER, a
 * program of its own:
 *
 *   NAME [SEED [COUNT [LONG]]]  inputs made from SEED, SEED + 1, ... until COUNT units are done, or
 *                               LONG units if WEFT_TEST_LONG is set
 *   NAME FILE|FOLDER...         these inputs: a corpus, or what libFuzzer found
 *
 * An input depends on its own seed only: what failed is repeated by 'NAME SEED 1', and a long run
 * goes on where another one ended. A long run says every few seconds how far it is, to
 * $WEFT_TEST_PROGRESS or else to stderr.
 */

/** A fuzzer. */
struct fuzz {
	const char *name;
	const char *unit; /**< what is counted: "packets" */
	size_t max_len;   /**< of an input */
	/** Make an input of 1 to max_len bytes; NULL: any bytes. */
	size_t (*make)(struct prng *rng, uint8_t *buf);
	/** Units so far. */
	const uint64_t *nb_done;
};

int fuzz_main(int argc, char **argv, const struct fuzz *fuzz);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/** Abort, with the line. */
#define FUZZ_CHECK(what)                                                                           \
	do {                                                                                       \
		if (!(what))                                                                       \
			fuzz_fail(__FILE__, __LINE__, #what);                                      \
	} while (0)
_Noreturn void fuzz_fail(const char *file, int line, const char *what);

/** Bytes of an input, read one after the other; zeros behind its end. */
struct script {
	const uint8_t *data;
	size_t len, at;
};
uint64_t script_take(struct script *s, uint32_t bytes);
/** Below n (1 to 256). */
uint32_t script_below(struct script *s, uint32_t n);

#endif
