/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any file may be called the journal of a sweep: none crashes the reader; it gives rows of cells
 * that there are, each of which can be read again, or says which line is wrong.
 *
 * Inputs are lines of journals, most with right sums, out of order and with words out of place;
 * some are cut or changed afterwards.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "sweep_journal.h"
#include "sweep_line.h"

#define MAX_LEN 4096

static uint64_t nb_inputs, nb_good;

static void
check_journal(struct journal *j)
{
	uint32_t nb_done = 0, nb_failed = 0, nb_mine = 0;

	FUZZ_CHECK(j->nb_cells == matrix_nb_cells(&j->matrix) && j->nb_cells > 0);
	for (uint32_t cell = 0; cell < j->nb_cells; cell++) {
		char **overrides = matrix_overrides(&j->matrix, cell);
		const struct sweep_row *row;

		FUZZ_CHECK(overrides && !overrides[j->matrix.nb_axes]);
		free(overrides);
		nb_mine += journal_has(j, cell);
		if (!journal_is_done(j, cell))
			continue;
		FUZZ_CHECK(journal_has(j, cell));
		row = journal_row(j, cell);
		FUZZ_CHECK(row && row->cell == cell && row->nb_metrics <= ROW_METRICS_MAX);
		FUZZ_CHECK(row_is_ok(row) == !j->entries[cell].failed);
		nb_done++;
		nb_failed += !row_is_ok(row);
	}
	FUZZ_CHECK(nb_mine == j->nb_mine && nb_done == j->nb_done && nb_failed == j->nb_failed);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	int fd = memfd_create("journal", MFD_CLOEXEC), err;
	char path[64], why[512] = "";
	struct journal j;

	nb_inputs++;
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = journal_read(&j, path, why, sizeof(why));
	close(fd);
	FUZZ_CHECK(err == 0 || err == -EBADMSG);
	if (err) {
		FUZZ_CHECK(strncmp(why, path, strlen(path)) == 0);
		return 0;
	}
	nb_good++;
	check_journal(&j);
	journal_close(&j);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
/* Mostly the wanted number. */
static uint32_t
nearly(struct prng *rng, uint32_t wanted)
{
	return prng_below(rng, 60) ? wanted : prng_below(rng, 10);
}

static const char *
make_line(struct prng *rng, uint32_t nb, uint32_t nb_values, char line[256])
{
	static const char *const odd[] = {"",  "key",      "value\t", "ok",
	                                  "0", "1\tok\tx", "\t\t\t",  "4294967296\tok"};
	static const char *const fates[] = {"ok", "ok\tm\t1", "ok\tm\t\tn\tx", "failed",
	                                    "failed: why"};

	if (prng_below(rng, 100) == 0)
		snprintf(line, 256, "%s", odd[prng_below(rng, sizeof(odd) / sizeof(odd[0]))]);
	else if (nb == 0)
		snprintf(line, 256, "weft-lab sweep 1\t%u\t%u\t%u\t%016x\t%016x",
		         nearly(rng, nb_values), nearly(rng, 0), nearly(rng, 1), 17, 4);
	else if (nb == 1)
		snprintf(line, 256, "key\tk");
	else if (nb < nb_values + 2)
		snprintf(line, 256, "value\t%u", nb);
	else
		snprintf(line, 256, "%u\t%s", nearly(rng, nb - nb_values - 2),
		         fates[prng_below(rng, sizeof(fates) / sizeof(fates[0]))]);
	return line;
}

static size_t
make(struct prng *rng, uint8_t *buf)
{
	uint32_t nb_values = 1 + prng_below(rng, 8), nb = prng_below(rng, 20);
	size_t len = 0;

	for (uint32_t i = 0; i < nb; i++) {
		char line[256 + LINE_SEAL];

		make_line(rng, i, nb_values, line);
		if (prng_below(rng, 100))
			line_seal(line, strlen(line));
		memcpy(buf + len, line, strlen(line));
		len += strlen(line);
	}
	if (len > 0 && prng_below(rng, 4) == 0)
		len -= prng_below(rng, (uint32_t)len);
	if (len > 0 && prng_below(rng, 4) == 0)
		buf[prng_below(rng, (uint32_t)len)] = (uint8_t)prng_next(rng);
	if (len == 0)
		buf[len++] = '\n';
	return len;
}

int
main(int argc, char **argv)
{
	static const struct fuzz fuzz = {
		.name = "journal",
		.unit = "files",
		.max_len = MAX_LEN,
		.make = make,
		.nb_done = &nb_inputs,
	};
	int code = fuzz_main(argc, argv, &fuzz);

	printf("%llu of them good\n", (unsigned long long)nb_good);
	return code ? code : nb_good < nb_inputs / 10;
}
#endif
