// The reference engine: threat-space search and alpha-beta over incremental patterns, behind the course protocol.
// `reference bench [DEPTH]` and `reference bench --seconds SECONDS` measure it instead (bench.h).
//
// Read it in this order: patterns.h and position.h (the board), evaluate.h, search.cpp (the algorithm) with table.h,
// ordering.h and selectivity.h, then threats.h and opening.h.
//
// A move takes at most nine tenths of the time limit (GOMOKU_MOVE_TIME_S, 5 s by default) and never more than 2 s, on the
// clock that the referee uses (GOMOKU_CLOCK: CPU time, or "wall"). Other environment variables:
//
//     GOMOKU_NODES      a move searches this many nodes, whatever time they take: games that do not depend on the machine
//     GOMOKU_SEED       repeats its choices in the opening
//     GOMOKU_NO_SWAP    set: it never swaps
//     GOMOKU_REPORT     set: it writes a line about each completed iteration to standard error. Depth 0 means that the threat
//                       search found a win and nothing else was searched; scores beyond 900000 are proven
//     GOMOKU_WITHOUT    a comma-separated list of ideas to switch off, by their names in options.h

#include <memory>
#include <random>

// This engine has its own `main`, because of the bench; it calls the one of the header.
#define main protocol_main
#include "AIController.h"
#undef main

#include "bench.h"
#include "opening.h"
#include "position.h"
#include "search.h"

std::string ai_name = "reference";

namespace {

constexpr double RESERVED_SHARE = 0.1;  // of the time limit
constexpr double LEAST_RESERVED_S = 0.03;
constexpr double MOST_S = 2.0;
constexpr double MOST_NODES = 1e12;
constexpr int SWAP_STONES = 3;
constexpr std::pair<int, int> NO_STONE{-1, -1};  // told: black opens, or white has swapped; answered: a swap

struct Engine {
    explicit Engine(const Options &options) : search(position, options) {}

    Position position;
    Search search;
    std::mt19937 generator;
    Limits limits = Limits::of_time(MOST_S);  // of a move
    bool reports = false;
    bool may_swap = true;
};

Options options;  // set by main()
std::unique_ptr<Engine> engine;

/// The positive number in an environment variable, or a default.
double environment_number(const char *name, double fallback) {
    const char *text = std::getenv(name);
    char *end = nullptr;
    const double number = text == nullptr ? 0.0 : std::strtod(text, &end);
    return text == nullptr || end == text || number <= 0 ? fallback : number;
}

/// The seconds to use of a time limit. On a busy machine an answer may be some 0.03 s late, however short the limit is.
double budget_of(double limit_s) {
    const double reserved_s = std::max(RESERVED_SHARE * limit_s, std::min(LEAST_RESERVED_S, limit_s / 2));
    return std::min(MOST_S, limit_s - reserved_s);
}

void report(const Result &result) {
    std::cerr << "depth " << result.depth << " nodes " << result.nodes << " nps "
              << static_cast<long>(static_cast<double>(result.nodes) / std::max(result.seconds, 1e-6)) << " score "
              << result.score << " pv";
    for (const int cell : result.line) {
        std::cerr << " " << x_of(cell) << "," << y_of(cell);
    }
    std::cerr << std::endl;
}

/// Whether the arguments ask for a bench; if so, `terms` says for which.
bool bench_terms(const std::vector<std::string> &arguments, BenchTerms &terms) {
    if (arguments[0] != "bench" || arguments.size() > 3) {
        return false;
    }
    if (arguments.size() == 1) {
        return true;
    }
    char *end = nullptr;
    const double number = std::strtod(arguments.back().c_str(), &end);
    if (*end != '\0' || !(number > 0 && number <= 3600)) {
        return false;
    }
    if (arguments.size() == 3) {
        terms.seconds = number;
        return arguments[1] == "--seconds";
    }
    terms.depth = static_cast<int>(number);
    return terms.depth == number && terms.depth <= MAX_PLY;
}

}  // namespace

void init() {
    init_patterns();
    engine = std::make_unique<Engine>(options);
    const char *seed = std::getenv("GOMOKU_SEED");
    const auto now = std::chrono::high_resolution_clock::now().time_since_epoch().count();
    engine->generator.seed(seed != nullptr ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10))
                                           : static_cast<unsigned>(now));
    const double nodes = environment_number("GOMOKU_NODES", 0.0);
    engine->limits = nodes >= 1.0 ? Limits::of_nodes(static_cast<std::uint64_t>(std::min(nodes, MOST_NODES)))
                                  : Limits::of_time(budget_of(environment_number("GOMOKU_MOVE_TIME_S", 5.0)));
    engine->reports = std::getenv("GOMOKU_REPORT") != nullptr;
    engine->may_swap = std::getenv("GOMOKU_NO_SWAP") == nullptr;
    ai_set_stone = [](int x, int y, bool mine) { engine->position.put(cell_of(x, y), mine ? ai_side : 1 - ai_side); };
}

std::pair<int, int> action(std::pair<int, int> loc) {
    Position &position = engine->position;
    if (loc != NO_STONE) {
        position.put(cell_of(loc.first, loc.second), 1 - ai_side);
    } else if (position.stones() > 0) {
        position.swap_colours();  // white has swapped: the stone that was white is mine now, and I move again
    }
    int cell = NO_CELL;
    if (position.stones() == 0) {
        cell = first_stone(engine->generator);
    } else if (ai_side == 0 && position.stones() == 2 && options.balance) {
        cell = balanced_stone(position, engine->search, engine->limits, engine->generator);
    } else {
        const Observer observer = engine->reports ? report : Observer();
        const Result result = engine->search.run(ai_side, engine->limits, observer);
        if (ai_side == 1 && position.stones() == SWAP_STONES && result.score < 0 && engine->may_swap) {
            position.swap_colours();
            return NO_STONE;
        }
        cell = result.cell;
    }
    position.put(cell, ai_side);
    return {x_of(cell), y_of(cell)};
}

int main(int argc, char **argv) {
    const char *without = std::getenv("GOMOKU_WITHOUT");
    const std::string complaint = switch_off(without == nullptr ? "" : without, options);
    if (!complaint.empty()) {
        std::cerr << "GOMOKU_WITHOUT: " << complaint << std::endl;
        return 2;
    }
    if (argc == 1) {
        return protocol_main();
    }
    BenchTerms terms;
    if (!bench_terms({argv + 1, argv + argc}, terms)) {
        std::cerr << "Expected no arguments, or: bench [DEPTH from 1 to " << MAX_PLY << "], or: bench --seconds SECONDS."
                  << std::endl;
        return 2;
    }
    init_patterns();
    run_bench(terms, options);
    return 0;
}
