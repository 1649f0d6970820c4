// Selectivity: which part of the tree is searched, and how deeply. The options that change it are asked for here and nowhere
// else, so that search.cpp reads as the algorithm.

#ifndef SELECTIVITY_H
#define SELECTIVITY_H

#include <algorithm>
#include <array>
#include <cstddef>

#include "evaluate.h"
#include "options.h"
#include "position.h"

class Selectivity {
   public:
    explicit Selectivity(const Options &options) : options_(options) {}

    /// Whether an open four and a double four count as won, and two fives to stop as lost, without a search.
    bool scores_fours() const { return options_.wins; }

    /// Whether lines longer than a win already found are cut off (mate distance pruning).
    bool prunes_by_distance() const { return options_.distance; }

    /// A position in danger, that is with a four or an open three to answer, is not a leaf: its evaluation would be wrong.
    bool is_leaf(int depth, int ply, bool in_danger) const {
        const bool goes_on = in_danger && options_.danger && depth > LOWEST_DEPTH;
        return ply >= MAX_PLY || (depth <= 0 && !goes_on);
    }

    /// Whether a leaf is searched for a VCF: it cannot matter where the evaluation alone causes a cut-off.
    bool wants_vcf(int value, int beta) const { return options_.vcf && !(options_.lazy_vcf && value >= beta); }

    /// Futility pruning: whether a position is evaluated so far above beta that a search of this depth would hardly change it.
    bool is_far_above(int value, int beta, int depth) const {
        return options_.futility && depth <= FUTILITY_DEPTH && value - FUTILITY_PER_PLY * depth >= beta;
    }

    /// Razoring: whether a position is evaluated so far below alpha that only a VCF could still help.
    bool is_far_below(int value, int alpha, int depth) const {
        return options_.razoring && depth <= RAZORING_DEPTH && value + RAZORING_PER_PLY * (depth + 1) <= alpha;
    }

    /// Futility pruning of moves: whether only the first move, and those that make or stop a threat, may reach alpha.
    bool skips_quiet_moves(int value, int alpha, int depth) const {
        return options_.skipping && depth <= SKIPPING_DEPTH && value + SKIPPING_MARGIN + SKIPPING_PER_PLY * depth <= alpha;
    }

    /// The depth to which a position is searched. Where the table knows no best move, the order is poor: a shallower search
    /// finds one, and the next iteration is deep again (internal iterative reduction).
    int depth_of(int depth, int ply, bool is_known) const {
        return options_.iir && !is_known && ply > 0 && depth >= IIR_FROM_DEPTH ? depth - 1 : depth;
    }

    /// The depth left after a move. The only answer to a four is free, except close to the deepest ply.
    int depth_after(int depth, int ply, bool is_only_move) const {
        const bool is_free = is_only_move && options_.extension && ply < MAX_PLY - EXTENSION_MARGIN;
        return is_free ? depth : depth - 1;
    }

    /// Plies by which the quiet move at this place in the order is reduced.
    int reduction(int depth, std::size_t place) const {
        if (!options_.lmr || depth < REDUCED_FROM_DEPTH) {
            return 0;
        }
        const auto is_behind = [&](std::size_t late) { return place >= late; };
        return static_cast<int>(std::count_if(LATE.begin(), LATE.end(), is_behind));
    }

    /// The upper end of the window for the move at this place: all but the first get an empty window.
    int scout_beta(std::size_t place, int alpha, int beta) const { return options_.pvs && place > 0 ? alpha + 1 : beta; }

    /// How many quiet moves are searched. At the root all of them are: the only saving move might be far back in the order.
    int width(int depth, int ply) const {
        if (ply == 0 || !options_.width) {
            return CELLS;
        }
        return options_.narrow ? std::clamp(LEAST_WIDTH + WIDTH_PER_PLY * depth, LEAST_WIDTH, MOST_WIDTH) : MOST_WIDTH;
    }

   private:
    static constexpr int LOWEST_DEPTH = -4;
    static constexpr int EXTENSION_MARGIN = 8;
    // The margins are in points of the evaluation.
    static constexpr int FUTILITY_DEPTH = 4;
    static constexpr int FUTILITY_PER_PLY = 120;
    static constexpr int RAZORING_DEPTH = 3;
    static constexpr int RAZORING_PER_PLY = 150;
    static constexpr int SKIPPING_DEPTH = 3;
    static constexpr int SKIPPING_MARGIN = 50;
    static constexpr int SKIPPING_PER_PLY = 100;
    static constexpr int IIR_FROM_DEPTH = 4;
    static constexpr int REDUCED_FROM_DEPTH = 3;
    static constexpr std::array<std::size_t, 3> LATE = {3, 6, 12};  // one ply more from each of these places on
    static constexpr int MOST_WIDTH = 24;
    static constexpr int LEAST_WIDTH = 8;
    static constexpr int WIDTH_PER_PLY = 2;

    const Options options_;
};

#endif
