// Iterative deepening alpha-beta search (principal variation search) with a transposition table.

#ifndef SEARCH_H
#define SEARCH_H

#include <array>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "clock.h"
#include "evaluate.h"
#include "options.h"
#include "ordering.h"
#include "position.h"
#include "selectivity.h"
#include "table.h"
#include "threats.h"

/// What ends a search, whichever comes first.
struct Limits {
    double budget_s;
    int max_depth;
    int threat_nodes;  // of the threat search (VCT) at the root
    std::uint64_t max_nodes = std::numeric_limits<std::uint64_t>::max();

    /// For a move within `budget_s`, of which the threat search at the root gets its share.
    static Limits of_time(double budget_s);
    /// For a move of `nodes` nodes, whatever time they take; the threat search gets a tenth.
    static Limits of_nodes(std::uint64_t nodes);
    /// For each of `searches` equal parts of such a move, no deeper than `depth`.
    Limits part(int searches, int depth) const;
};

struct Result {
    int cell = NO_CELL;
    int score = 0;  // for the side to move
    int depth = 0;  // of the last completed iteration; 0 if the threat search found a win
    std::uint64_t nodes = 0;
    double seconds = 0.0;
    std::vector<int> line;  // principal variation
};

/// Called with the result so far after each completed iteration.
using Observer = std::function<void(const Result &)>;

class Search {
   public:
    Search(Position &position, const Options &options);

    /// The best move for `side` within the limits. The position is as before afterwards.
    Result run(int side, const Limits &limits, const Observer &observer = nullptr);

   private:
    /// A node of the tree: what the moves above ask of the position on the board. Scores are for `side`, who is to move, and
    /// only those between alpha and beta matter.
    struct Node {
        int side;
        int depth;  // left to search
        int alpha;
        int beta;
        int ply;  // moves below the root

        bool is_root() const { return ply == 0; }
        /// Whether it only matters on which side of the window the score lies, and none of them is a proven one.
        bool is_scout() const { return beta - alpha == 1 && std::abs(beta) <= SURE_WIN; }
        /// The node after a move, searched to `new_depth` with the window from alpha to `new_beta`, seen from the other side.
        Node child(int new_depth, int new_beta) const { return {1 - side, new_depth, -new_beta, -alpha, ply + 1}; }
    };
    struct Stopped {};

    void prepare(const Limits &limits);
    void deepen(int side, int max_depth, Result &result, const Observer &observer);
    int negamax(Node node);
    std::optional<int> cut_off(Node &node) const;
    std::optional<int> decided_by_fours(const Node &node) const;
    std::optional<int> pruned(const Node &node);
    int leaf_value(const Node &node);
    int search_moves(Node node);
    int search_move(const Node &node, std::size_t place, bool is_quiet);
    bool is_in_danger(int side) const;
    bool is_calm(int side, int cell) const;
    int find_threat_win(int side, int threat_nodes);
    bool loses_to_threats(int side, int cell);
    void count_node();
    bool is_over() const { return searched() >= max_nodes_ || clock_->is_over(); }
    std::uint64_t searched() const { return nodes_ + threats_.nodes() - earlier_threat_nodes_; }
    int best_known(int side) const;
    void report(Result &result, const Observer &observer) const;
    std::vector<int> principal_variation(int side);

    const Options options_;
    const Selectivity selectivity_;
    Position &position_;
    ThreatSearch threats_;
    TranspositionTable table_;
    MoveOrdering ordering_;
    std::array<std::vector<Move>, MAX_PLY + 1> moves_;  // by ply
    std::optional<Clock> clock_;
    std::uint64_t nodes_ = 0;
    std::uint64_t earlier_threat_nodes_ = 0;  // of earlier runs
    std::uint64_t max_nodes_ = 0;
    std::uint64_t next_check_ = 0;                    // when `searched()` reaches it, the limits are looked at
    int root_cell_ = NO_CELL;                         // the best so far, which each iteration searches first
    std::unordered_map<int, bool> root_refutations_;  // by root move: whether the opponent has a VCT after it
    int refutation_nodes_ = 0;                        // for each of them
};

#endif
