// UCT, and UCT with RAVE, for NoGo: a fixed number of simulations for each move.
//
// UCT: L. Kocsis and C. Szepesvari, "Bandit based Monte-Carlo Planning", ECML 2006. A simulation walks down the tree, from a
// position to the move that maximises UCB1, Q(s, a) + c sqrt(ln N(s) / N(s, a)), once every move there has been tried; plays
// uniformly random legal moves from the leaf to the end of the game; and adds the result to every move of the path.
//
// RAVE: S. Gelly and D. Silver, "Monte-Carlo tree search and rapid action value estimation in computer Go", Artificial
// Intelligence 175 (2011). Every simulation through s in which the side to move at s plays a at any later time also counts for
// the all-moves-as-first value Q~(s, a). The move that maximises (1 - beta) Q(s, a) + beta Q~(s, a) is selected, with the
// hand-selected schedule of section 4.3, beta = sqrt(k / (3 N(s) + k)). There is no exploration term, as the paper found best.
// A move without any value of either kind counts as 1/2.
//
// The move with the most visits is played, and the tree is thrown away. Values lie in [0, 1]. The value of a move is the mean
// result of the player who makes it.

#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "position.h"

namespace nogo {

/// SplitMix64 (Steele, Lea and Flood 2014), a small generator whose numbers are the same on every machine.
class Random {
   public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    /// Uniform in [0, n), up to a bias of n / 2^32.
    int below(int n) { return static_cast<int>((next() >> 32) * static_cast<std::uint64_t>(n) >> 32); }

   private:
    std::uint64_t next() {
        std::uint64_t mixed = state_ += 0x9E37'79B9'7F4A'7C15U;
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58'476D'1CE4'E5B9U;
        mixed = (mixed ^ (mixed >> 27)) * 0x94D0'49BB'1331'11EBU;
        return mixed ^ (mixed >> 31);
    }

    std::uint64_t state_;
};

enum class Method { RANDOM, UCT, RAVE };

// In matches of 40 games on 9x9 with 1000 simulations, 0.3 won 31 games against 0.6 and 20 against 0.2.
constexpr float EXPLORATION = 0.3F;  // c of UCB1
// The visits at which both values weigh the same. In such matches 3000 won 27 games against 1000.
constexpr float EQUIVALENCE = 3000.0F;  // k of RAVE
constexpr std::uint32_t EXPAND_AT = 2;  // visits at which a leaf is expanded
constexpr std::size_t ROOM = 16;        // the most nodes per simulation; after that leaves stay leaves

class Search {
   public:
    /// A search with at least one simulation for each move.
    Search(Method method, int simulations, Random &random) : method_(method), simulations_(simulations), random_(random) {}

    /// The move of this colour, or 0 if it has no legal move.
    Cell choose(const Position &position, Colour to_move) {
        if (method_ == Method::RANDOM) {
            return Candidates(position, to_move).draw(position, random_);
        }
        nodes_.clear();
        nodes_.reserve(ROOM * static_cast<std::size_t>(simulations_) + LARGEST * LARGEST);
        nodes_.emplace_back();
        expand(0, position, to_move);
        if (nodes_[0].children == 0) {
            return 0;
        }
        for (int i = 0; i < simulations_; ++i) {
            simulate(position, to_move);
        }
        const auto first = nodes_.begin() + nodes_[0].first_child;
        const auto fewer = [](const Node &a, const Node &b) { return a.visits < b.visits; };
        const Node &best = *std::max_element(first, first + nodes_[0].children, fewer);
        value_ = best.mean;
        return best.move;
    }

    /// The mean result, in [0, 1], of the move that was chosen last by simulations.
    float value() const { return value_; }

   private:
    using Index = std::uint32_t;

    /// A move and the position after it. The children of a node are adjacent.
    struct Node {
        std::uint32_t visits = 0;
        std::uint32_t amaf_visits = 0;
        float mean = 0;
        float amaf_mean = 0;
        Index first_child = 0;
        std::uint16_t children = 0;
        std::uint16_t tried = 0;  // by UCT: how many children have been visited, from the first one on
        Cell move = 0;
        bool expanded = false;
    };

    void simulate(Position position, Colour to_move) {
        path_.assign(1, 0);
        played_by_.fill(EMPTY);
        Colour mover = to_move;
        while (true) {
            const Index leaf = path_.back();
            if (!nodes_[leaf].expanded && nodes_[leaf].visits + 1 >= EXPAND_AT) {
                expand(leaf, position, mover);
            }
            if (nodes_[leaf].children == 0) {
                break;
            }
            path_.push_back(select(leaf));
            const Cell move = nodes_[path_.back()].move;
            position.play(move, mover);
            played_by_[move] = mover;
            mover = other(mover);
        }
        backup(to_move, roll_out(position, mover));
    }

    /// Give a node its children, in random order, unless there is no room for them. A node without a legal move has none.
    void expand(Index index, const Position &position, Colour to_move) {
        std::vector<Cell> moves = position.legal_moves(to_move);
        if (nodes_.size() + moves.size() > nodes_.capacity()) {
            return;
        }
        for (std::size_t i = moves.size(); i > 1; --i) {
            std::swap(moves[i - 1], moves[static_cast<std::size_t>(random_.below(static_cast<int>(i)))]);
        }
        nodes_[index].expanded = true;
        nodes_[index].first_child = static_cast<Index>(nodes_.size());
        nodes_[index].children = static_cast<std::uint16_t>(moves.size());
        for (const Cell move : moves) {
            nodes_.emplace_back();
            nodes_.back().move = move;
        }
    }

    Index select(Index index) {
        Node &parent = nodes_[index];
        if (method_ == Method::UCT && parent.tried < parent.children) {
            return parent.first_child + parent.tried++;
        }
        const auto visits = static_cast<float>(parent.visits);
        const float width = EXPLORATION * std::sqrt(std::log(std::max(1.0F, visits)));
        const float beta = std::sqrt(EQUIVALENCE / (3 * visits + EQUIVALENCE));
        Index best = parent.first_child;
        float highest = -std::numeric_limits<float>::infinity();
        for (Index child = parent.first_child; child < parent.first_child + parent.children; ++child) {
            const Node &node = nodes_[child];
            const float value = method_ == Method::UCT ? node.mean + width / std::sqrt(static_cast<float>(node.visits))
                                                       : blended_value(node, beta);
            if (value > highest) {
                highest = value;
                best = child;
            }
        }
        return best;
    }

    static float blended_value(const Node &node, float beta) {
        if (node.visits == 0) {
            return node.amaf_visits == 0 ? 0.5F : node.amaf_mean;
        }
        return node.amaf_visits == 0 ? node.mean : (1 - beta) * node.mean + beta * node.amaf_mean;
    }

    /// Play random moves to the end and return the winner.
    Colour roll_out(Position &position, Colour to_move) {
        std::array<Candidates, 2> candidates{Candidates(position, BLACK), Candidates(position, WHITE)};
        while (true) {
            const Cell move = candidates[to_move].draw(position, random_);
            if (move == 0) {
                return other(to_move);
            }
            position.play(move, to_move);
            played_by_[move] = to_move;
            candidates[BLACK].drop(move);
            candidates[WHITE].drop(move);
            to_move = other(to_move);
        }
    }

    /// Add the result to the moves of the path and, with RAVE, to every sibling that its player played at any later time.
    void backup(Colour to_move, Colour winner) {
        Colour mover = other(to_move);
        for (const Index index : path_) {
            add(nodes_[index].visits, nodes_[index].mean, mover == winner);
            mover = other(mover);
            if (method_ != Method::RAVE) {
                continue;
            }
            const Index first = nodes_[index].first_child;
            for (Index child = first; child < first + nodes_[index].children; ++child) {
                // A point is played at most once in a game, and the points of earlier moves are not children here.
                if (played_by_[nodes_[child].move] == mover) {
                    add(nodes_[child].amaf_visits, nodes_[child].amaf_mean, mover == winner);
                }
            }
        }
    }

    static void add(std::uint32_t &visits, float &mean, bool won) {
        mean += ((won ? 1.0F : 0.0F) - mean) / static_cast<float>(++visits);
    }

    Method method_;
    int simulations_;
    Random &random_;
    std::vector<Node> nodes_;
    std::vector<Index> path_;
    float value_ = 0.5F;
    std::array<Colour, CELLS> played_by_{};
};

}  // namespace nogo
