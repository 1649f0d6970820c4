// Measurements on fixed positions: how much work a depth is, or how deep a time goes.

#ifndef BENCH_H
#define BENCH_H

#include "options.h"

struct BenchTerms {
    int depth = 8;
    double seconds = 0.0;  // for each position, in place of a depth, if not 0
};

/// Search every position of the bench and print what each took, on standard output; times are CPU seconds. At a fixed depth
/// the last line is the signature: all nodes together, the same on every machine until the search itself changes.
void run_bench(const BenchTerms &terms, const Options &options);

#endif
