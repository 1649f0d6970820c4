// Measurements on fixed positions: how many nodes a depth takes, or how deep the search gets in a given time.

#ifndef BENCH_H
#define BENCH_H

#include "options.h"

struct BenchTerms {
    int depth = 8;
    double seconds = 0.0;  // for each position; if not 0 it replaces the depth
};

/// Search every position of the bench and print what each took to standard output, in CPU seconds. At a fixed depth the last
/// line is the signature: the number of all nodes, the same on every machine until the search itself changes.
void run_bench(const BenchTerms &terms, const Options &options);

#endif
