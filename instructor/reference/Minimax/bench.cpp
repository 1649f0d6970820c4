#include "bench.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <limits>
#include <memory>
#include <sstream>
#include <vector>

#include "position.h"
#include "search.h"

namespace {

constexpr int THREAT_NODES = 100'000;  // of the threat search at the root: what a move of one second gets

struct BenchPosition {
    const char *kind;
    const char *moves;  // x,y, black first
};

const std::vector<BenchPosition> POSITIONS = {
    {"opening", "7,7"},
    {"opening", "9,7 10,6 13,3"},
    {"opening", "6,7 4,7 1,6 7,6 4,8 6,8"},
    {"opening", "7,10 9,10 9,13 5,10 4,9 4,7 10,9 5,9 5,11"},
    {"middle", "4,7 4,5 1,3 4,9 5,10 7,8 6,7 5,7 7,9 6,10 4,8 4,4 4,3 6,4 7,4 3,4 2,4 3,5 6,5 5,6"},
    {"middle", "9,7 10,6 13,3 8,4 9,5 9,6 11,6 6,6 7,6 10,4 10,5 7,5 9,3 8,3 10,7 8,5 8,6 11,7 7,4 4,8 5,7"},
    {"middle", "5,9 4,10 1,8 5,8 3,9 7,9 8,10 4,7 3,6 3,7 6,7 4,8 4,9 2,9 3,8 2,7 1,7 1,9 2,8 7,8 8,8 8,7 7,10 10,9 9,6"},
    {"middle", "9,10 10,9 13,11 7,8 6,9 11,9 9,9 9,8 11,10 8,8 6,8 10,8 11,8 8,6"},
    {"middle", "6,7 4,7 1,6 7,6 4,8 6,8 9,8 9,7 10,8 11,8 7,9 5,9 4,10 5,6 6,6 7,10 3,9 5,7 5,8 2,8 7,4 11,7 11,6 10,7"},
    {"late",
     "5,9 4,10 1,9 7,9 8,8 10,8 10,9 5,10 7,10 4,8 4,9 11,9 2,10 9,11 10,10 9,10 9,8 8,7 2,9 3,9 2,8 2,11 6,8 5,8 11,11 9,9 "
     "11,7 6,7 10,7 11,6 9,6 8,5 9,4 9,5 7,5 8,9 7,8 12,10 13,11 8,6 9,7 9,12 9,13 3,7 3,6 2,6 10,4 7,4 11,5 8,4 8,3 9,3 "
     "12,4 10,6 6,2 3,11 4,11 3,10 3,8 1,10 3,12 4,4 13,4 11,4 13,5 13,6 12,6 13,7 6,1 7,2 10,2 11,3"},
    {"defence", "6,4 4,4 9,1 7,3 4,5 6,7 6,9 8,4 9,5 5,10 6,3 4,9 7,2 8,1 6,2"},
    {"defence", "7,10 9,10 9,13 5,10 4,9 4,7 10,9 5,9 5,11 10,10 12,10 7,9 4,11 9,9 4,10"},
    {"attack", "6,7 4,7 1,8 8,5 4,8 7,8 5,10 5,9"},
    {"attack", "6,4 7,5 8,1 5,4 7,6 4,6 4,5 9,6 5,7 10,7 11,8 10,5 9,5"},
    {"attack", "7,10 9,10 4,13 5,10 5,9 6,11 4,11 4,9 3,8 9,9 9,11 10,9 7,12 11,8 12,7 11,9 12,9 11,10 11,11 9,8 12,11"},
};

/// Put the stones on the board; returns the side to move.
int set_up(Position &position, const char *moves) {
    std::istringstream text(moves);
    int side = 0;
    int x = 0;
    int y = 0;
    char comma = ',';
    while (text >> x >> comma >> y) {
        position.put(cell_of(x, y), side);
        side = 1 - side;
    }
    return side;
}

double rate(std::uint64_t nodes, double seconds) { return static_cast<double>(nodes) / std::max(seconds, 1e-6); }

}  // namespace

void run_bench(const BenchTerms &terms, const Options &options) {
    Limits limits = Limits::of_time(terms.seconds);
    if (terms.seconds <= 0.0) {
        limits = {std::numeric_limits<double>::infinity(), terms.depth, THREAT_NODES};
    }
    std::uint64_t nodes = 0;
    double seconds = 0.0;
    int depths = 0;
    int number = 0;
    for (const BenchPosition &bench : POSITIONS) {
        Position position;
        const int side = set_up(position, bench.moves);
        const auto search = std::make_unique<Search>(position, options);  // a new one, so that its table is empty
        const std::clock_t start = std::clock();
        const Result result = search->run(side, limits);
        const double spent_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        std::printf("%2d %-8s depth %2d nodes %9llu time %7.3f nps %8.0f score %7d best %d,%d\n", ++number, bench.kind,
                    result.depth, static_cast<unsigned long long>(result.nodes), spent_s, rate(result.nodes, spent_s),
                    result.score, x_of(result.cell), y_of(result.cell));
        nodes += result.nodes;
        seconds += spent_s;
        depths += result.depth;
    }
    std::printf("mean depth %.2f time %.3f nps %.0f\n", depths / static_cast<double>(number), seconds, rate(nodes, seconds));
    if (terms.seconds <= 0.0) {
        std::printf("signature %llu\n", static_cast<unsigned long long>(nodes));
    }
}
