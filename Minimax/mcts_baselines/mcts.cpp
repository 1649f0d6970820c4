// Rungs of the ladder of opponents: UCT with random rollouts and a fixed number of simulations a move.
//
// L. Kocsis and C. Szepesvari, "Bandit based Monte-Carlo Planning", ECML 2006. A simulation walks down the tree, from a
// position to the move that maximises UCB1 (equation 1 with the bias of section 2.3),
//
//     X(move) + 2 C_p sqrt(ln N(position) / N(move)),
//
// once every move there has been tried; plays uniformly random moves from the leaf to the end of the game; and adds the
// result, 1, 1/2 or 0, to every move on its way. The move with the most visits is played, and the tree is thrown away.
//
//   Position   position.h: bits of lines. Moves are the empty points near a stone, in the tree and in rollouts.
//   Search     A leaf gets its moves at its second visit. There, and nowhere in rollouts, the rules' end is looked for one
//              ply ahead: of moves that make five only one is kept; else, if the opponent threatens to make five, only the
//              points where. No patterns, no evaluation, no other threats.
//   Opening    First stone in the middle, or anywhere in the central 7x7 with -DRANDOM_OPENING=1; third stone where the
//              search finds the game most even; swap when it finds white below one half.
//
// Values lie in [0, 1]. The value of a move is the mean result of the player who makes it.
//
// Built with -DSIMULATIONS=n (rung.cpp). GOMOKU_SEED repeats a game, GOMOKU_OPENING="x y" imposes black's first stone if it
// lies in the central 7x7, GOMOKU_VERBOSE=1 writes a line about every move to standard error.

#include <chrono>
#include <cmath>
#include <sstream>

#include "AIController.h"
#include "position.h"

namespace mcts {

extern const int simulations_a_move;  // both in rung.cpp
extern const bool opens_randomly;

/// Xorshift64* (Marsaglia 2003, Vigna 2016): rollouts are most of the time, and drawing is much of a rollout.
class Random {
   public:
    explicit Random(std::uint64_t seed) : state_((seed + 1) * 0x9E37'79B9'7F4A'7C15U | 1U) {
        for (int i = 0; i < 16; ++i) {  // seeds that differ in one bit begin alike
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

constexpr float EXPLORATION = 0.3F;   // C_p; in matches the theorem's 1 / sqrt(2) lost to 0.5, and 0.5 to 0.3
constexpr std::uint32_t GROW_AT = 2;  // visits at which a leaf gets its moves; 1 and 5 lost to it
constexpr std::size_t ROOM = 16;      // nodes for every simulation, at most; beyond them leaves stay leaves

/// Black's result of a game of uniformly random moves from here.
float rollout(Position &position, Random &random) {
    while (true) {
        std::uint64_t bits = random.next();
        for (int i = 0; i < 4; ++i, bits >>= 16) {  // four moves a draw: some are 0.4 % likelier than others
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

/// A move and the position after it. Children stand side by side, so a node needs no pointer to each.
struct Node {
    std::uint32_t visits = 0;
    Index first_child = 0;
    std::uint8_t children = 0;
    std::uint8_t tried = 0;  // children that have been visited; the first ones
    Point move = 0;
    bool wins = false;  // the move makes five
};

/// What UCB1 reads of a child; apart from Node, since the choice among a hundred children is a walk through memory.
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

    /// Begin anew, with the moves of the position at the root.
    void plant(const Position &position) {
        clear(position);
        grow(ROOT, position);
    }

    /// Begin anew, with every empty point at the root.
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
        std::array<Index, POINTS + 1> path;
        path[0] = ROOT;
        path[1] = child;
        std::size_t length = 2;
        position.play(nodes_[child].move);
        while (!nodes_[path[length - 1]].wins) {
            const Index leaf = path[length - 1];
            if (nodes_[leaf].children == 0 && nodes_[leaf].visits + 1 >= GROW_AT) {
                grow(leaf, position);
            }
            if (nodes_[leaf].children == 0) {
                break;
            }
            path[length] = select(leaf);
            position.play(nodes_[path[length]].move);
            ++length;
        }
        const bool won = nodes_[path[length - 1]].wins;
        const float black_result = won ? (position.side_to_move() == WHITE ? 1.0F : 0.0F) : rollout(position, random_);
        int mover = position_.side_to_move() ^ 1;
        for (std::size_t i = 0; i < length; ++i, mover ^= 1) {
            add_result(path[i], mover == BLACK ? black_result : 1.0F - black_result);
        }
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

    /// Give a node its children, in random order; none if the board is full or the room is used up.
    void grow(Index index, const Position &position) {
        std::array<Point, POINTS> moves;
        int count = 0;
        const bool wins = find_ends(position, moves, count);
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

    /// Moves that the next two plies force: one that makes five (true), else all where the opponent would make five.
    static bool find_ends(const Position &position, std::array<Point, POINTS> &moves, int &count) {
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

/// Black's first stone: the one imposed, else a random one or the middle.
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

/// Black's second stone: white may take it over, so the one whose position is nearest to even for white.
///
/// Every empty point is looked at, since the even ones are seldom near. A quarter of the candidates outlives each third of the
/// simulations, which go to all that are left alike: UCB1 would spend them on the stone that is best for black.
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

    /// A stone of a position that is given, by whose turn it is.
    void set_stone(int x, int y) { position_.play(point_at(x, y)); }

    std::pair<int, int> answer(std::pair<int, int> opponent) {
        if (opponent != SWAP) {
            position_.play(point_at(opponent.first, opponent.second));
        } else if (position_.stones() > 0) {
            position_.swap_colours();  // by white; the single stone that was white is mine, and I am to move
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
        if (side_ == WHITE && position_.stones() == 3 && value < 0.5F) {
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

    /// Write a child of the root and its value to standard error, if asked for; gives its move.
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
