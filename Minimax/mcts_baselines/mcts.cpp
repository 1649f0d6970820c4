// The UCT rungs of the ladder of opponents: random rollouts, and a fixed number of simulations for each move.
//
// L. Kocsis and C. Szepesvari, "Bandit based Monte-Carlo Planning", ECML 2006. A simulation walks down the tree, from a
// position to the move that maximises UCB1 (equation 1 with the bias of section 2.3),
//
//     X(move) + 2 C_p sqrt(ln N(position) / N(move)),
//
// once every move there has been tried; plays uniformly random moves from the leaf to the end of the game; and adds the
// result, 1, 1/2 or 0, to every move of the path. The move with the most visits is played, and the tree is thrown away.
//
//   Position   position.h: bits of lines. Moves are the empty points near a stone, in the tree and in rollouts.
//   Search     A leaf is expanded at its second visit. There, but not in rollouts, the tree looks one ply ahead: of the moves
//              that make five it keeps only one; else, if the opponent threatens to make five, only the points where that
//              would happen. No patterns, no evaluation, no other threats.
//   Opening    First stone in the middle, or anywhere in the central 7x7 with -DRANDOM_OPENING=1; third stone where the
//              search finds the game most even; swap if it finds white's value below one half (never with GOMOKU_NO_SWAP).
//
// Values lie in [0, 1]. The value of a move is the mean result of the player who makes it.
//
// Built with -DSIMULATIONS=n (rung.cpp). GOMOKU_SEED repeats a game, GOMOKU_OPENING="x y" sets black's first stone if it is in
// the central 7x7, and GOMOKU_VERBOSE=1 writes a line about every move to standard error.

#include <chrono>
#include <cmath>
#include <sstream>

#include "AIController.h"
#include "position.h"

namespace mcts {

extern const int simulations_a_move;  // both in rung.cpp
extern const bool opens_randomly;

/// Xorshift64* (Marsaglia 2003, Vigna 2016), a fast generator: rollouts take most of the time, and much of a rollout is
/// drawing.
class Random {
   public:
    explicit Random(std::uint64_t seed) : state_((seed + 1) * 0x9E37'79B9'7F4A'7C15U | 1U) {
        for (int i = 0; i < 16; ++i) {  // the first numbers of similar seeds are similar
            next();
        }
    }

    std::uint64_t next() {
        state_ ^= state_ >> 12;
        state_ ^= state_ << 25;
        state_ ^= state_ >> 27;
        return state_ * 0x2545'F491'4F6C'DD1DU;
    }

    /// Uniform in [0, n).
    int below(int n) { return static_cast<int>((next() >> 32) * static_cast<std::uint64_t>(n) >> 32); }

   private:
    std::uint64_t state_;
};

// ---------------------------------------------------------------------------------------------------------------- search

constexpr float EXPLORATION = 0.3F;     // C_p; in matches 0.3 beat 0.5, and 0.5 beat the theorem's 1 / sqrt(2)
constexpr std::uint32_t EXPAND_AT = 2;  // visits at which a leaf is expanded; 1 and 5 lost to it
constexpr std::size_t ROOM = 16;        // the most nodes per simulation; after that leaves stay leaves

/// Black's result of a game of uniformly random moves from here.
float rollout(Position &position, Random &random) {
    while (true) {
        std::uint64_t bits = random.next();
        for (int i = 0; i < 4; ++i, bits >>= 16) {  // four moves from each number: some moves are 0.4 % likelier than others
            const auto count = static_cast<unsigned>(position.candidate_count());
            if (count == 0) {
                return 0.5F;
            }
            const int mover = position.side_to_move();
            if (position.play_candidate(static_cast<int>((bits & 0xFFFFU) * count >> 16))) {
                return mover == BLACK ? 1.0F : 0.0F;
            }
        }
    }
}

using Index = std::uint32_t;

/// A move and the position after it. The children of a node are adjacent, so that it needs only one index for all of them.
struct Node {
    std::uint32_t visits = 0;
    Index first_child = 0;
    std::uint8_t children = 0;
    std::uint8_t tried = 0;  // how many children have been visited, from the first one on
    Point move = 0;
    bool wins = false;  // the move makes five
};

/// What UCB1 reads of a child. It is kept apart from Node, since choosing among a hundred children walks through memory.
struct Score {
    float mean = 0;
    float inverse_root = 0;  // 1 / sqrt(visits)
};

class Tree {
   public:
    explicit Tree(Random &random) : random_(random) {
        nodes_.reserve(ROOM * static_cast<std::size_t>(simulations_a_move));
        scores_.reserve(nodes_.capacity());
    }

    static constexpr Index ROOT = 0;

    /// Begin a new tree with the moves of the position at the root.
    void plant(const Position &position) {
        clear(position);
        expand(ROOT, position);
    }

    /// Begin a new tree with every empty point at the root.
    void plant_wide(const Position &position) {
        clear(position);
        std::array<Point, POINTS> moves;
        int count = 0;
        for (int point = 0; point < POINTS; ++point) {
            if (position.is_empty(static_cast<Point>(point))) {
                moves[count++] = static_cast<Point>(point);
            }
        }
        add_children(ROOT, moves, count, false);
    }

    const Node &operator[](Index index) const { return nodes_[index]; }
    std::size_t size() const { return nodes_.size(); }

    /// One simulation by UCB1.
    void simulate() { simulate_from(select(ROOT)); }

    /// One simulation that begins with this child of the root.
    void simulate_from(Index child) {
        Position position = position_;
        Path path;
        path.add(ROOT);
        path.add(child);
        position.play(nodes_[child].move);
        descend(path, position);
        backup(path, evaluate(path.leaf(), position));
    }

    /// The child with the most visits.
    Index best_child(Index parent) const {
        const auto first = nodes_.begin() + nodes_[parent].first_child;
        const auto fewer = [](const Node &a, const Node &b) { return a.visits < b.visits; };
        return static_cast<Index>(std::max_element(first, first + nodes_[parent].children, fewer) - nodes_.begin());
    }

    /// What the position after a move is worth to the side to move there: the value of the best answer.
    float value_of_answer(Index index) const {
        return nodes_[index].tried == 0 ? 1.0F - scores_[index].mean : scores_[best_child(index)].mean;
    }

   private:
    void clear(const Position &position) {
        position_ = position;
        nodes_.clear();
        scores_.clear();
        nodes_.emplace_back();
        scores_.emplace_back();
    }

    /// The nodes of a simulation, from the root on.
    struct Path {
        std::array<Index, POINTS + 1> nodes;
        std::size_t length = 0;

        void add(Index index) { nodes[length++] = index; }
        Index leaf() const { return nodes[length - 1]; }
    };

    /// Select and expand: walk on from the last node of the path, playing its moves, to a leaf or to a five.
    void descend(Path &path, Position &position) {
        while (!nodes_[path.leaf()].wins) {
            const Index leaf = path.leaf();
            if (nodes_[leaf].children == 0 && nodes_[leaf].visits + 1 >= EXPAND_AT) {
                expand(leaf, position);
            }
            if (nodes_[leaf].children == 0) {
                return;
            }
            path.add(select(leaf));
            position.play(nodes_[path.leaf()].move);
        }
    }

    /// Black's result from a leaf: a won game, or a rollout.
    float evaluate(Index leaf, Position &position) {
        if (nodes_[leaf].wins) {
            return position.side_to_move() == WHITE ? 1.0F : 0.0F;
        }
        return rollout(position, random_);
    }

    /// Add black's result to every move of the path, as a result of the player who made the move.
    void backup(const Path &path, float black_result) {
        int mover = position_.side_to_move() ^ 1;
        for (std::size_t i = 0; i < path.length; ++i, mover ^= 1) {
            add_result(path.nodes[i], mover == BLACK ? black_result : 1.0F - black_result);
        }
    }

    /// A child that has not been tried, else the one with the highest UCB1.
    Index select(Index index) {
        Node &parent = nodes_[index];
        if (parent.tried < parent.children) {
            return parent.first_child + parent.tried++;
        }
        const float width = 2 * EXPLORATION * std::sqrt(std::log(static_cast<float>(parent.visits)));
        Index best = parent.first_child;
        float highest = -1;
        for (Index child = parent.first_child; child < parent.first_child + parent.children; ++child) {
            const float bound = scores_[child].mean + width * scores_[child].inverse_root;
            if (bound > highest) {
                highest = bound;
                best = child;
            }
        }
        return best;
    }

    /// Give a node its children, in random order. There are none if the board is full or there is no room for them.
    void expand(Index index, const Position &position) {
        std::array<Point, POINTS> moves;
        int count = 0;
        const bool wins = find_forced(position, moves, count);
        if (count == 0) {
            for (; count < position.candidate_count(); ++count) {
                const int other = random_.below(count + 1);
                moves[count] = moves[other];
                moves[other] = position.candidate(count);
            }
        }
        if (nodes_.size() + static_cast<std::size_t>(count) <= nodes_.capacity()) {
            add_children(index, moves, count, wins);
        }
    }

    void add_children(Index index, const std::array<Point, POINTS> &moves, int count, bool wins) {
        nodes_[index].first_child = static_cast<Index>(nodes_.size());
        nodes_[index].children = static_cast<std::uint8_t>(count);
        for (int i = 0; i < count; ++i) {
            Node child;
            child.move = moves[i];
            child.wins = wins;
            nodes_.push_back(child);
            scores_.emplace_back();
        }
    }

    /// The moves that decide the next two plies: one that makes five (returns true), else all that stop a five of the opponent.
    static bool find_forced(const Position &position, std::array<Point, POINTS> &moves, int &count) {
        const int own = position.side_to_move();
        for (int i = 0; i < position.candidate_count(); ++i) {
            const Point point = position.candidate(i);
            if (position.makes_five(point, own)) {
                moves[0] = point;
                count = 1;
                return true;
            }
            if (position.makes_five(point, own ^ 1)) {
                moves[count++] = point;
            }
        }
        return false;
    }

    void add_result(Index index, float result) {
        const auto visits = static_cast<float>(++nodes_[index].visits);
        scores_[index].mean += (result - scores_[index].mean) / visits;
        scores_[index].inverse_root = 1 / std::sqrt(visits);
    }

    Position position_;
    Random &random_;
    std::vector<Node> nodes_;
    std::vector<Score> scores_;
};

// --------------------------------------------------------------------------------------------------------------- opening

constexpr int CENTRE_LOW = 4;
constexpr int CENTRE_HIGH = 10;

Point point_at(int x, int y) { return static_cast<Point>(x * SIZE + y); }

/// Black's first stone: the one that the match imposes, else a random one or the middle.
Point first_stone(Random &random) {
    const auto central = [](int c) { return CENTRE_LOW <= c && c <= CENTRE_HIGH; };
    if (const char *imposed = std::getenv("GOMOKU_OPENING"); imposed != nullptr) {
        std::istringstream words(imposed);
        int x = 0;
        int y = 0;
        if (words >> x >> y && central(x) && central(y)) {
            return point_at(x, y);
        }
    }
    if (!opens_randomly) {
        return point_at(SIZE / 2, SIZE / 2);
    }
    const int x = CENTRE_LOW + random.below(CENTRE_HIGH - CENTRE_LOW + 1);
    return point_at(x, CENTRE_LOW + random.below(CENTRE_HIGH - CENTRE_LOW + 1));
}

/// Black's second stone: white may swap, so the best one is the one after which the game is most even.
///
/// Every empty point is a candidate, since the even ones are seldom near. Each third of the simulations is divided equally
/// among the candidates that are left, and a quarter of these survives it: UCB1 would prefer the stone that is best for black.
Index third_stone(Tree &tree) {
    constexpr int ROUNDS = 3;
    std::vector<Index> left;
    for (Index i = 0; i < tree[Tree::ROOT].children; ++i) {
        left.push_back(tree[Tree::ROOT].first_child + i);
    }
    const auto unevenness = [&](Index child) { return std::abs(tree.value_of_answer(child) - 0.5F); };
    int done = 0;
    for (int round = 1; round <= ROUNDS; ++round) {
        for (std::size_t turn = 0; done < static_cast<long>(simulations_a_move) * round / ROUNDS; ++done, ++turn) {
            tree.simulate_from(left[turn % left.size()]);
        }
        std::sort(left.begin(), left.end(), [&](Index a, Index b) { return unevenness(a) < unevenness(b); });
        left.resize((left.size() + 3) / 4);
    }
    return left.front();
}

// ---------------------------------------------------------------------------------------------------------------- player

/// One seat of one game.
class Player {
   public:
    Player(int side, std::uint64_t seed) : side_(side), random_(seed), tree_(random_) {}

    /// Put a stone of a given position on the board, for the side to move.
    void set_stone(int x, int y) { position_.play(point_at(x, y)); }

    std::pair<int, int> answer(std::pair<int, int> opponent) {
        if (opponent != SWAP) {
            position_.play(point_at(opponent.first, opponent.second));
        } else if (position_.stones() > 0) {
            position_.swap_colours();  // by white: the stone that was white is mine now, and I move again
        }
        if (position_.stones() == 0) {
            return place(first_stone(random_));
        }
        if (side_ == BLACK && position_.stones() == 2) {
            tree_.plant_wide(position_);
            const Index third = third_stone(tree_);
            return place(report(third, 1 - tree_.value_of_answer(third)));
        }
        tree_.plant(position_);
        for (int i = 0; i < simulations_a_move; ++i) {
            tree_.simulate();
        }
        const Index best = tree_.best_child(Tree::ROOT);
        const float value = tree_.value_of_answer(Tree::ROOT);
        report(best, value);
        if (side_ == WHITE && position_.stones() == 3 && value < 0.5F && std::getenv("GOMOKU_NO_SWAP") == nullptr) {
            position_.swap_colours();
            return SWAP;
        }
        return place(tree_[best].move);
    }

   private:
    static constexpr std::pair<int, int> SWAP{-1, -1};

    std::pair<int, int> place(Point point) {
        position_.play(point);
        return {point / SIZE, point % SIZE};
    }

    /// The move of a child of the root, which is written to standard error with its value if GOMOKU_VERBOSE is set.
    Point report(Index child, float value) const {
        const Point move = tree_[child].move;
        if (std::getenv("GOMOKU_VERBOSE") != nullptr) {
            std::cerr << "simulations " << tree_[Tree::ROOT].visits << " nodes " << tree_.size() << " move " << move / SIZE
                      << " " << move % SIZE << " value " << value << std::endl;
        }
        return move;
    }

    int side_;
    Random random_;
    Tree tree_;  // refers to random_
    Position position_;
};

std::uint64_t seed_of_this_game() {
    const char *seed = std::getenv("GOMOKU_SEED");
    const auto now = std::chrono::high_resolution_clock::now().time_since_epoch().count();
    return seed != nullptr ? std::strtoull(seed, nullptr, 10) : static_cast<std::uint64_t>(now);
}

Player &player() {
    static Player only(ai_side, seed_of_this_game());
    return only;
}

}  // namespace mcts

std::string ai_name = "mcts_" + std::to_string(mcts::simulations_a_move) + (mcts::opens_randomly ? "_rand" : "");

void init() {
    mcts::player();
    ai_set_stone = [](int x, int y, bool) { mcts::player().set_stone(x, y); };
}

std::pair<int, int> action(std::pair<int, int> loc) { return mcts::player().answer(loc); }
