// Iterative deepening alpha-beta (principal variation search) with a transposition table.

#ifndef SEARCH_H
#define SEARCH_H

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <unordered_map>
#include <vector>

#include "clock.h"
#include "options.h"
#include "position.h"
#include "threats.h"

constexpr int WIN = 1'000'000;     // less the plies to the five
constexpr int SURE_WIN = 900'000;  // scores beyond it are proven
constexpr int MAX_PLY = 64;

/// When a search ends: by whatever comes first.
struct Limits {
    double budget_s;
    int max_depth;
    int threat_nodes;  // of the search for threats at the root
    std::uint64_t max_nodes = std::numeric_limits<std::uint64_t>::max();

    static Limits of_time(double budget_s, int max_depth = MAX_PLY);
};

struct Result {
    int cell = NO_CELL;
    int score = 0;  // for the side to move
    int depth = 0;  // 0: the search for threats has found a win
    std::uint64_t nodes = 0;
    double seconds = 0.0;
    std::vector<int> line;  // principal variation
};

/// What is told of each iteration that was completed.
using Observer = std::function<void(const Result &)>;

class Search {
   public:
    Search(Position &position, const Options &options);

    /// The best move for `side` within the limits.
    Result run(int side, const Limits &limits, const Observer &observer = nullptr);

   private:
    enum Bound : std::uint8_t { UPPER, LOWER, EXACT };
    struct Entry {
        std::uint64_t hash = 0;
        std::int32_t score = 0;
        std::int16_t cell = NO_CELL;
        std::int8_t depth = -1;
        Bound bound = UPPER;
    };
    struct Move {
        int cell;
        int key;
    };
    struct Stopped {};

    int negamax(int side, int depth, int alpha, int beta, int ply);
    bool is_over() const;
    std::uint64_t searched() const { return nodes_ + threats_.nodes() - earlier_; }
    int evaluate(int side) const;
    void remember(int side, int cell, int depth, int ply);
    bool loses_to_threats(int side, int cell);
    int width_at(int depth) const;
    void find_moves(int side, int preferred, int ply, int width, std::vector<Move> &moves) const;
    std::vector<int> principal_variation(int side);

    const Options options_;
    Position &position_;
    ThreatSearch threats_;
    std::vector<Entry> table_;
    std::array<std::array<int, CELLS>, 2> history_;
    std::array<std::array<int, 2>, MAX_PLY + 1> killers_;
    std::array<std::vector<Move>, MAX_PLY + 1> moves_;
    const Clock *clock_ = nullptr;
    std::uint64_t nodes_ = 0;
    std::uint64_t earlier_ = 0;  // nodes of searches for threats in earlier moves
    std::uint64_t max_nodes_ = 0;
    int root_cell_ = NO_CELL;               // best so far of the iteration
    std::unordered_map<int, int> answers_;  // to root moves, that win by threats; NO_CELL: none was found
    int answer_nodes_ = 0;                  // looked at for each
};

#endif
