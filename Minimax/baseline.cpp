// The opponent that grades: alpha-beta of fixed depth over few candidates, in one file, meant to be read from top to bottom.
//
//   Board      The stones, and for every empty point, colour and direction the threat there: how long the run becomes if that
//              colour plays there, and how many of its ends stay open. Threats are updated stone by stone: a stone changes
//              only the points at the ends of the runs that meet it, at most two in each direction.
//   Candidates The points with the largest threat, one's own or the opponent's: 9 at the root, down to 3 near the leaves.
//   Search     Negamax with alpha-beta to depth 12. A five is made at once, and the opponent's is stopped.
//   Opening    First stone anywhere in the central 7x7; third stone where the search finds the position most even; swap if the
//              search is against the side to move (never with GOMOKU_NO_SWAP). The seed chooses among moves of nearly equal
//              score.
//
// It knows runs and nothing else: no threat-space search, no understanding of double threats. That is where to beat it.

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <random>

#include "AIController.h"

std::string ai_name = "baseline";

namespace {

// ----------------------------------------------------------------------------------------------------------------- board

constexpr int SIZE = 15;
constexpr int ROW = SIZE + 2;  // with a rim, so that walking along a line needs no bounds checks
constexpr int CELLS = ROW * ROW;
constexpr int DIRECTIONS[4] = {1, ROW, ROW + 1, ROW - 1};
constexpr int EMPTY = 0;
constexpr int BLACK = 1;
constexpr int WHITE = 2;
constexpr int RIM = 3;

/// What five in a row is worth; no sum of lesser threats reaches it.
constexpr std::int64_t FIVE = 1'000'000'000'000;

/// WEIGHT[length][open ends] of the run that a stone would make: each stone more is worth about a thousand times as much.
constexpr std::int64_t WEIGHT[6][3] = {
    {0, 0, 0}, {0, 1, 4}, {0, 30, 1'000}, {0, 20'000, 1'000'000}, {0, 3'000'000, 1'000'000'000}, {FIVE, FIVE, FIVE}};

int cell_of(int x, int y) { return (x + 1) * ROW + y + 1; }
std::pair<int, int> point_of(int cell) { return {cell / ROW - 1, cell % ROW - 1}; }
int opponent_of(int colour) { return BLACK + WHITE - colour; }

/// Invariant: `threat_` holds threat_at() of every empty point and 0 of every stone; `total_` and `sum_` add it up.
class Board {
   public:
    Board() {
        at_.fill(RIM);
        for (int x = 0; x < SIZE; ++x) {
            for (int y = 0; y < SIZE; ++y) {
                all_points_.push_back(cell_of(x, y));
                at_[cell_of(x, y)] = EMPTY;
            }
        }
        for (const int cell : all_points_) {
            for (int direction = 0; direction < 4; ++direction) {
                refresh(cell, direction);
            }
        }
    }

    int stones() const { return stones_; }
    bool is_empty(int cell) const { return at_[cell] == EMPTY; }
    /// All cells but the rim.
    const std::vector<int> &points() const { return all_points_; }
    /// The threats of a colour at a point, over its four directions.
    std::int64_t threat(int colour, int cell) const { return total_[colour][cell]; }
    /// The threats of a colour over the whole board.
    std::int64_t all_threats(int colour) const { return sum_[colour]; }

    /// Put a stone of this colour on a cell, or take one away (EMPTY).
    void set(int cell, int colour) {
        stones_ += (colour != EMPTY) - (at_[cell] != EMPTY);
        at_[cell] = colour;
        for (int direction = 0; direction < 4; ++direction) {
            refresh(cell, direction);
            for (const int step : {DIRECTIONS[direction], -DIRECTIONS[direction]}) {
                int end = cell + step;
                if (at_[end] == BLACK || at_[end] == WHITE) {
                    run_length(cell, step, at_[end], end);
                }
                if (at_[end] == EMPTY) {
                    refresh(end, direction);
                }
            }
        }
    }

    void swap_colours() {
        std::vector<std::pair<int, int>> swapped;
        for (const int cell : all_points_) {
            if (at_[cell] != EMPTY) {
                swapped.emplace_back(cell, opponent_of(at_[cell]));
            }
        }
        for (const auto &[cell, colour] : swapped) {
            set(cell, EMPTY);
        }
        for (const auto &[cell, colour] : swapped) {
            set(cell, colour);
        }
    }

   private:
    /// Length of the run of `colour` that begins beside `cell` in direction `step`; `end` becomes the cell behind it.
    int run_length(int cell, int step, int colour, int &end) const {
        int length = 0;
        for (end = cell + step; at_[end] == colour; end += step) {
            ++length;
        }
        return length;
    }

    std::int64_t threat_at(int cell, int direction, int colour) const {
        int front = 0;
        int back = 0;
        const int step = DIRECTIONS[direction];
        const int length = 1 + run_length(cell, step, colour, front) + run_length(cell, -step, colour, back);
        const int open = (at_[front] == EMPTY) + (at_[back] == EMPTY);
        return WEIGHT[std::min(length, 5)][open];
    }

    /// Update the threats of both colours at one point in one direction.
    void refresh(int cell, int direction) {
        for (const int colour : {BLACK, WHITE}) {
            const std::int64_t value = at_[cell] == EMPTY ? threat_at(cell, direction, colour) : 0;
            const std::int64_t change = value - threat_[colour][cell][direction];
            threat_[colour][cell][direction] = value;
            total_[colour][cell] += change;
            sum_[colour] += change;
        }
    }

    std::array<int, CELLS> at_;                                               // EMPTY, BLACK, WHITE or RIM
    std::array<std::array<std::array<std::int64_t, 4>, CELLS>, 3> threat_{};  // [colour][cell][direction]
    std::array<std::array<std::int64_t, CELLS>, 3> total_{};                  // [colour][cell], over the directions
    std::array<std::int64_t, 3> sum_{};                                       // [colour], over the board
    std::vector<int> all_points_;
    int stones_ = 0;
};

// ------------------------------------------------------------------------------------------------------------ candidates

constexpr int MOST_CANDIDATES = 16;

struct Candidate {
    std::int64_t key;
    int cell;
};

struct Candidates {
    std::array<Candidate, MOST_CANDIDATES> list;
    int count = 0;

    const Candidate *begin() const { return list.data(); }
    const Candidate *end() const { return list.data() + count; }

    /// Keep this one as the only candidate.
    void keep_only(const Candidate &candidate) {
        list[0] = candidate;
        count = 1;
    }

    /// Insert in order, best first; of more than `width` the last one is dropped. Among equals the first one stays in front.
    void insert(const Candidate &candidate, int width) {
        if (count == width && candidate.key <= list[count - 1].key) {
            return;
        }
        int place = count < width ? count++ : count - 1;
        for (; place > 0 && list[place - 1].key < candidate.key; --place) {
            list[place] = list[place - 1];
        }
        list[place] = candidate;
    }
};

/// The `width` most urgent points for `colour`, best first; a single one where a five can be made or must be stopped.
Candidates find_candidates(const Board &board, int colour, int width) {
    Candidates candidates;
    Candidate block = {0, 0};
    for (const int cell : board.points()) {
        if (!board.is_empty(cell)) {
            continue;
        }
        const std::int64_t own = board.threat(colour, cell);
        const std::int64_t theirs = board.threat(opponent_of(colour), cell);
        if (own >= FIVE) {
            candidates.keep_only({own, cell});
            return candidates;
        }
        if (theirs >= FIVE) {
            block = {theirs, cell};
        }
        candidates.insert({std::max(2 * own, theirs), cell}, width);  // of two equal threats one's own comes first
    }
    if (block.cell != 0) {
        candidates.keep_only(block);
    }
    return candidates;
}

// ---------------------------------------------------------------------------------------------------------------- search

constexpr int DEPTH = 12;
constexpr int WIDTH[DEPTH + 1] = {3, 3, 3, 3, 3, 3, 4, 4, 5, 5, 6, 7, 9};  // by the depth left
constexpr std::int64_t WIN = 1'000'000 * FIVE;
constexpr std::int64_t LIMIT = 2 * WIN;

// The opening: depths of the two rounds of searches for an even third stone (a second round at depth 11 took up to 0.8 s), how
// many points the second round looks at again, and among how many the seed chooses.
constexpr int FIRST_DEPTH = 4;
constexpr int SECOND_DEPTH = 9;
constexpr std::size_t SECOND_POINTS = 16;
constexpr std::size_t CHOICES = 4;

struct Choice {
    std::int64_t score;
    int cell;
};

/// All that the engine knows during a game.
struct Engine {
    Board board;
    std::mt19937 generator;
    int nodes = 0;  // of the last move

    std::int64_t negamax(int colour, int depth, std::int64_t alpha, std::int64_t beta);
    std::int64_t score_after(int cell, int colour, int depth, std::int64_t alpha, std::int64_t beta);
    Choice choose(int colour, int depth);
    int first_stone();
    int even_stone();
};

/// The score of the position for `colour`, who is to move: exact if it lies between alpha and beta, otherwise a bound.
std::int64_t Engine::negamax(int colour, int depth, std::int64_t alpha, std::int64_t beta) {
    ++nodes;
    const Candidates candidates = find_candidates(board, colour, WIDTH[depth]);
    if (candidates.count == 0) {
        return 0;  // the board is full
    }
    if (board.threat(colour, candidates.list[0].cell) >= FIVE) {
        return WIN + depth;  // the sooner the better
    }
    if (depth == 0) {
        return 2 * board.all_threats(colour) - board.all_threats(opponent_of(colour));  // the side to move is a tempo ahead
    }
    std::int64_t best = -LIMIT;
    for (const Candidate &candidate : candidates) {
        best = std::max(best, score_after(candidate.cell, colour, depth, std::max(alpha, best), beta));
        if (best >= beta) {
            break;
        }
    }
    return best;
}

/// The score of a move for `colour`, which makes it; `depth` is that of the position before the move.
std::int64_t Engine::score_after(int cell, int colour, int depth, std::int64_t alpha, std::int64_t beta) {
    board.set(cell, colour);
    const std::int64_t score = -negamax(opponent_of(colour), depth - 1, -beta, -alpha);
    board.set(cell, EMPTY);
    return score;
}

/// Moves within a twentieth of the best score count as equally good, but nothing counts as equal to a win.
std::int64_t slack(std::int64_t best) { return std::abs(best) < WIN ? std::abs(best) / 20 + 1 : 0; }

/// The move for `colour`: the seed chooses among those whose scores are within a few per cent of the best.
Choice Engine::choose(int colour, int depth) {
    std::vector<Choice> good;
    std::int64_t best = -LIMIT;
    for (const Candidate &candidate : find_candidates(board, colour, WIDTH[depth])) {
        // Scores a little below the best must be exact, so that they can be compared: the window reaches down to them.
        const std::int64_t alpha = std::max(-LIMIT, best - slack(best));
        good.push_back({score_after(candidate.cell, colour, depth, alpha, LIMIT), candidate.cell});
        best = std::max(best, good.back().score);
    }
    const auto is_worse = [&](const Choice &choice) { return choice.score < best - slack(best); };
    good.erase(std::remove_if(good.begin(), good.end(), is_worse), good.end());
    return good[generator() % good.size()];
}

// --------------------------------------------------------------------------------------------------------------- opening

/// Black's first stone: anywhere in the central 7x7, or where the match wants it, so that both colours play from the same
/// stone.
int Engine::first_stone() {
    int x = 4 + static_cast<int>(generator() % 7);
    int y = 4 + static_cast<int>(generator() % 7);
    const char *opening = std::getenv("GOMOKU_OPENING");
    int a = 0;
    int b = 0;
    if (opening != nullptr && std::sscanf(opening, "%d %d", &a, &b) == 2 && std::min(a, b) >= 4 && std::max(a, b) <= 10) {
        x = a;
        y = b;
    }
    return cell_of(x, y);
}

/// Black's second stone: white may swap, so the best points are those after which neither side is ahead. All points are
/// searched to a small depth, and the most even ones again, more deeply.
int Engine::even_stone() {
    std::vector<Choice> choices;  // their scores say how far from even the position is
    for (const int cell : board.points()) {
        const auto [x, y] = point_of(cell);
        if (board.is_empty(cell) && x >= 2 && y >= 2 && x <= SIZE - 3 && y <= SIZE - 3) {
            choices.push_back({0, cell});
        }
    }
    for (const auto &[depth, kept] : {std::pair(FIRST_DEPTH, SECOND_POINTS), std::pair(SECOND_DEPTH, CHOICES)}) {
        for (auto &[score, cell] : choices) {
            score = std::abs(score_after(cell, BLACK, depth + 1, -LIMIT, LIMIT));
        }
        std::stable_sort(choices.begin(), choices.end(), [](const Choice &a, const Choice &b) { return a.score < b.score; });
        choices.resize(std::min(choices.size(), kept));
    }
    return choices[generator() % choices.size()].cell;
}

Engine engine;

/// A score as GOMOKU_REPORT wants it: beyond 900000 for a win that the search sees, and otherwise on a logarithmic scale.
long reported(std::int64_t score) {
    const double size = score >= WIN || score <= -WIN ? 1e6 : 100 * std::log10(1.0 + static_cast<double>(std::abs(score)));
    return std::lround(score < 0 ? -size : size);
}

int own_colour() { return ai_side == 0 ? BLACK : WHITE; }

}  // namespace

// -------------------------------------------------------------------------------------------- what AIController.h asks for

void init() {
    const char *seed = std::getenv("GOMOKU_SEED");
    const auto now = std::chrono::high_resolution_clock::now().time_since_epoch().count();
    engine.generator.seed(seed != nullptr ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10))
                                          : static_cast<unsigned>(now));
    ai_set_stone = [](int x, int y, bool mine) {
        engine.board.set(cell_of(x, y), mine ? own_colour() : opponent_of(own_colour()));
    };
}

std::pair<int, int> action(std::pair<int, int> loc) {
    const std::pair<int, int> no_stone(-1, -1);  // from the referee: black opens, or white has swapped; as an answer: a swap
    const int own = own_colour();
    Board &board = engine.board;
    if (loc != no_stone) {
        board.set(cell_of(loc.first, loc.second), opponent_of(own));
    } else if (board.stones() > 0) {
        board.swap_colours();  // by white: the stone that was white is this engine's now, and it moves again
    }
    const auto start = std::chrono::steady_clock::now();
    engine.nodes = 0;
    int cell = 0;
    if (board.stones() == 0) {
        cell = engine.first_stone();
    } else if (own == BLACK && board.stones() == 2) {
        cell = engine.even_stone();
    } else {
        const Choice choice = engine.choose(own, DEPTH);
        if (own == WHITE && board.stones() == 3 && choice.score < 0 && std::getenv("GOMOKU_NO_SWAP") == nullptr) {
            board.swap_colours();
            return no_stone;
        }
        cell = choice.cell;
        if (std::getenv("GOMOKU_REPORT") != nullptr) {
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
            const auto [x, y] = point_of(cell);
            std::cerr << "depth " << DEPTH << " nodes " << engine.nodes << " nps "
                      << std::lround(engine.nodes / std::max(1e-6, seconds.count())) << " score " << reported(choice.score)
                      << " pv " << x << "," << y << std::endl;
        }
    }
    board.set(cell, own);
    if (std::getenv("GOMOKU_DEBUG") != nullptr) {
        std::cerr << "nodes " << engine.nodes << std::endl;
    }
    return point_of(cell);
}
