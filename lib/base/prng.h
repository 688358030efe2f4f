/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEFT_PRNG_H
#define WEFT_PRNG_H

#include <stdint.h>

/**
 * Pseudo-random numbers for simulation, faults and spraying: fast, seeded, the same everywhere.
 *
 * Not for secrets: keys come from the system. Source: xoshiro256** 1.0 and splitmix64, D. Blackman
 * and S. Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM TOMS 47(4), 2021.
 */
struct prng {
	uint64_t s[4];
};

/** One step of splitmix64: spreads related seeds (run, QPN, ...) apart. */
static inline uint64_t
prng_splitmix(uint64_t *x)
{
	uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/** Start from any seed, 0 included. */
static inline void
prng_seed(struct prng *p, uint64_t seed)
{
	for (int i = 0; i < 4; i++)
		p->s[i] = prng_splitmix(&seed);
}

/** 64 random bits. */
static inline uint64_t
prng_next(struct prng *p)
{
	uint64_t *s = p->s;
	uint64_t x = s[1] * 5;
	uint64_t res = ((x << 7) | (x >> 57)) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return res;
}

/**
 * A number from 0 to n - 1, each equally likely.
 *
 * @param n  1 or more.
 * Source: D. Lemire, "Fast Random Integer Generation in an Interval", ACM TOMACS 29(1), 2019.
 */
static inline uint32_t
prng_below(struct prng *p, uint32_t n)
{
	uint64_t m = (prng_next(p) >> 32) * n;

	if ((uint32_t)m < n) {
		uint32_t reject = -n % n;

		while ((uint32_t)m < reject)
			m = (prng_next(p) >> 32) * n;
	}
	return (uint32_t)(m >> 32);
}

/** A real number in [0, 1), a multiple of 2^-53. */
static inline double
prng_unit(struct prng *p)
{
	return (double)(prng_next(p) >> 11) * 0x1p-53;
}

#endif
