// The milestones of Part 1 (docs/theory.md, section 11) as engines, one for each STEP, which is set when this file is compiled:
//   1 wins at once and stops fives, otherwise plays at random near the stones      2 greedy: the best evaluation after its move
//   3 alpha-beta to depth 2      4 alpha-beta to depth 4      5 the same, and victory by continuous fours
//   6 as 4, but iterative deepening to depth 6, with a transposition table and killer moves
//   7 as 6, but for a second of time instead of to a depth
//   8 as 7, and victory by continuous fours; no position with a four is evaluated
//
// The evaluation knows the windows of five points in a row. A window with stones of only one colour is worth VALUE[stones] to
// that colour. Each stone updates the windows through its point, of which there are at most 20, and what these windows promise
// to their points. A value is for the side to move.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <limits>
#include <random>

#include "AIController.h"

std::string ai_name = "milestone " + std::to_string(STEP);

namespace {

constexpr int SIZE = 15, POINTS = SIZE * SIZE, FIVE = 5, WIDTH = 12, MOST_FOURS = 8, WON = 1000000;
constexpr std::array<int, FIVE + 1> VALUE = {0, 1, 8, 60, 400, WON};
const std::pair<int, int> NOTHING(-1, -1);

struct Window {
    std::array<int, FIVE> points;
    std::array<int, 2> stones;  // mine, the opponent's
};

std::vector<Window> windows;
std::array<std::vector<int>, POINTS> through;  // a point -> its windows
std::array<std::vector<int>, POINTS> around;   // a point -> those at most two rows and columns away, itself included
std::array<int, POINTS> owner;                 // -1 empty, 0 mine, 1 the opponent's
std::array<int, POINTS> stones_near;           // a point -> stones around it
int stones;
std::mt19937 generator;
std::uint64_t key;                                          // of the stones (Zobrist 1970)
std::array<std::array<std::uint64_t, POINTS>, 2> zobrist;   // side, point
constexpr std::uint64_t SECOND_SIDE = 0x9e3779b97f4a7c15U;  // part of the key if side 1 is to move

/// What all windows without a stone of the other side are for one side.
struct Prospects {
    int worth = 0, fours = 0;             // the value of the windows; the number of those with four stones
    std::array<int, POINTS> promise{};    // a point -> the value that its windows get if this side plays there
    std::array<int, POINTS> new_fours{};  // a point -> the number of its windows with three stones
};

std::array<Prospects, 2> prospects;

/// Add a window to the prospects of a side, or with times = -1 take it away.
void count_window(const Window &window, int side, int times) {
    const int own = window.stones[side];
    if (window.stones[1 - side] > 0) {
        return;
    }
    Prospects &of_side = prospects[side];
    of_side.worth += times * VALUE[own];
    of_side.fours += own == FIVE - 1 ? times : 0;
    for (const int point : window.points) {
        of_side.promise[point] += own < FIVE ? times * VALUE[own + 1] : 0;
        of_side.new_fours[point] += own == FIVE - 2 ? times : 0;
    }
}

void add_stone(int point, int side, int change) {
    for (const int number : through[point]) {
        Window &window = windows[number];
        count_window(window, 0, -1);
        count_window(window, 1, -1);
        window.stones[side] += change;
        count_window(window, 0, 1);
        count_window(window, 1, 1);
    }
    for (const int other : around[point]) {
        stones_near[other] += change;
    }
    stones += change;
    key ^= zobrist[side][point];
}

void place(int point, int side) {
    owner[point] = side;
    add_stone(point, side, 1);
}

void take_back(int point) {
    add_stone(point, owner[point], -1);
    owner[point] = -1;
}

void swap_colours() {
    for (int point = 0; point < POINTS; ++point) {
        if (const int side = owner[point]; side != -1) {
            take_back(point);
            place(point, 1 - side);
        }
    }
}

/// Empty points that complete a five of this side.
std::vector<int> winning_points(int side) {
    std::vector<int> found;
    if (prospects[side].fours == 0) {
        return found;
    }
    for (const Window &window : windows) {
        if (window.stones[side] == FIVE - 1 && window.stones[1 - side] == 0) {
            for (const int point : window.points) {
                if (owner[point] == -1 && std::find(found.begin(), found.end(), point) == found.end()) {
                    found.push_back(point);
                }
            }
        }
    }
    return found;
}

/// The moves to search, most promising first; only the answer if there is a five to complete or to stop.
std::vector<int> candidates(int side, std::size_t most) {
    const auto &own = prospects[side].promise, &other = prospects[1 - side].promise;
    for (const int each : {side, 1 - side}) {
        const std::vector<int> forced = winning_points(each);
        if (!forced.empty()) {
            return {forced[0]};
        }
    }
    std::vector<std::pair<int, int>> ranked;
    for (int point = 0; point < POINTS; ++point) {
        if (owner[point] == -1 && stones_near[point] > 0) {
            ranked.emplace_back(-2 * own[point] - other[point], point);
        }
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> moves;
    for (std::size_t i = 0; i < ranked.size() && i < most; ++i) {
        moves.push_back(ranked[i].second);
    }
    return moves;
}

/// The time of a move: CPU time where the referee counts it (GOMOKU_CLOCK), so that the engine thinks as long on a busy machine
/// as on an idle one, otherwise wall-clock time.
class Clock {
   public:
    void start(double seconds) {
        end_s = now_s() + seconds;
        late = false;
    }

    /// Whether the time is over; looks only at every 64th call, because a look takes as long as a part of a node.
    bool is_over() {
        late = late || (++calls % 64 == 0 && now_s() > end_s);
        return late;
    }

   private:
    double end_s = std::numeric_limits<double>::infinity();
    bool late = false;
    unsigned calls = 0;

    static double now_s() {
        static const char *const counted = std::getenv("GOMOKU_CLOCK");
        static const bool counts_cpu = counted != nullptr && std::strcmp(counted, "cpu") == 0;
        const std::chrono::duration<double> wall = std::chrono::steady_clock::now().time_since_epoch();
        return counts_cpu ? static_cast<double>(std::clock()) / CLOCKS_PER_SEC : wall.count();
    }
};

Clock thinking;  // started by the steps from 7 on

/// Whether the side to move wins by fours only, each of which leaves the opponent one answer; `first` is its first move. When
/// the time is over, nothing is found.
bool wins_by_fours(int side, int most, int *first) {
    const std::vector<int> mine = winning_points(side), theirs = winning_points(1 - side);
    if (!mine.empty()) {
        *first = mine[0];
        return true;
    }
    if (most == 0 || theirs.size() > 1 || thinking.is_over()) {
        return false;
    }
    std::vector<int> moves = theirs;
    for (int point = 0; theirs.empty() && point < POINTS; ++point) {
        if (owner[point] == -1 && prospects[side].new_fours[point] > 0) {
            moves.push_back(point);
        }
    }
    for (const int move : moves) {
        place(move, side);
        const std::vector<int> fives = winning_points(side);
        bool won = fives.size() > 1;
        if (fives.size() == 1) {
            int next = 0;
            place(fives[0], 1 - side);
            won = wins_by_fours(side, most - 1, &next);
            take_back(fives[0]);
        }
        take_back(move);
        if (won) {
            *first = move;
            return true;
        }
    }
    return false;
}

/// The value of a position without a search.
int evaluation(int side) { return prospects[side].worth * 5 / 4 - prospects[1 - side].worth; }

int search(int side, int depth, int alpha, int beta, int *best) {
    if (prospects[1 - side].worth >= WON) {
        return -WON - depth;  // the opponent has just completed a five; sooner is worse
    }
    int unused = 0;
    if (depth == 0) {
        if (STEP >= 5 && wins_by_fours(side, MOST_FOURS / 2, &unused)) {
            return WON;
        }
        return evaluation(side);
    }
    const std::vector<int> moves = candidates(side, WIDTH);
    for (const int move : moves) {
        place(move, side);
        const int value = -search(1 - side, depth - 1, -beta, -alpha, &unused);
        take_back(move);
        if (value > alpha) {
            alpha = value;
            *best = move;
            if (alpha >= beta) {
                break;
            }
        }
    }
    return alpha;
}

/// What a search has found out about a position. A value beyond the bounds of the search is itself only a bound.
struct Entry {
    enum Kind : std::uint8_t { NONE, EXACT, AT_LEAST, AT_MOST };
    std::uint64_t key = 0;
    int value = 0, depth = 0, move = 0;
    Kind kind = NONE;
};

constexpr int MOST_PLIES = 64, LONGEST_WIN = POINTS, DEPTH_WITHOUT_CLOCK = 6;
constexpr double THINKING_S = 1, SHARE = 0.6, FOURS_SHARE = 0.25;

/// Alpha-beta to growing depths, until the time is over or the deepest one is done.
class Deepening {
   public:
    /// The best move of the deepest search and the value of the deepest one that was finished.
    std::pair<int, int> best_move(int first_guess, int deepest) {
        best = first_guess;
        int value = evaluation(0);
        for (int depth = 1; depth <= deepest && !is_over && std::abs(value) < WON - LONGEST_WIN; ++depth) {
            const int found = search(0, depth, 0, -2 * WON, 2 * WON);
            value = is_over ? value : found;
        }
        return {best, value};
    }

   private:
    int best = 0;
    bool is_over = false;
    std::array<std::array<int, 2>, MOST_PLIES + 1> killers{};  // ply -> the latest moves that refuted a position there

    /// A win is worth less the later it comes: WON less its ply. The table counts plies from the stored position instead.
    static int from_here(int value, int plies) {
        return std::abs(value) < WON - LONGEST_WIN ? value : value > 0 ? value + plies : value - plies;
    }

    int search(int side, int depth, int ply, int alpha, int beta) {
        if (prospects[1 - side].worth >= WON) {
            return ply - WON;
        }
        if (stones == POINTS || ply == MOST_PLIES) {
            return 0;
        }
        const bool has_four = prospects[0].fours + prospects[1].fours > 0;
        if (depth <= 0 && !(STEP >= 8 && has_four)) {
            int unused = 0;
            return STEP >= 8 && wins_by_fours(side, MOST_FOURS / 2, &unused) ? WON - ply - 3 : evaluation(side);
        }
        Entry &entry = remembered(side);
        const bool is_known = entry.kind != Entry::NONE && entry.key == key_of(side);
        if (is_known && ply > 0 && entry.depth >= depth) {
            const int value = from_here(entry.value, -ply);
            if (entry.kind == Entry::EXACT || (entry.kind == Entry::AT_LEAST ? value >= beta : value <= alpha)) {
                return value;
            }
        }
        const std::vector<int> moves = ordered(candidates(side, WIDTH), is_known ? entry.move : -1, ply);
        return moves.empty() ? evaluation(side) : best_of(moves, side, depth, ply, alpha, beta);
    }

    int best_of(const std::vector<int> &moves, int side, int depth, int ply, int alpha, int beta) {
        int highest = -2 * WON, chosen = moves[0];
        Entry::Kind kind = Entry::AT_MOST;
        for (const int move : moves) {
            place(move, side);
            const int value = -search(1 - side, depth - 1, ply + 1, -beta, -alpha);
            take_back(move);
            is_over = thinking.is_over();
            if (is_over) {
                return 0;  // the best move so far has been noted; this one is not known to be better
            }
            if (value > highest) {
                highest = value;
                chosen = move;
                best = ply == 0 ? move : best;
            }
            if (highest > alpha) {
                alpha = highest;
                kind = Entry::EXACT;
            }
            if (alpha >= beta) {
                kind = Entry::AT_LEAST;
                if (killers[ply][0] != move) {
                    killers[ply] = {move, killers[ply][0]};
                }
                break;
            }
        }
        remembered(side) = {key_of(side), from_here(highest, ply), depth, chosen, kind};
        return highest;
    }

    /// The best move of an earlier search first, then the killers, then the others as they were.
    std::vector<int> ordered(std::vector<int> moves, int known, int ply) const {
        const auto rank = [&](int move) {
            return move == known ? 0 : move == killers[ply][0] || move == killers[ply][1] ? 1 : 2;
        };
        std::stable_sort(moves.begin(), moves.end(), [&](int one, int other) { return rank(one) < rank(other); });
        return moves;
    }

    static std::uint64_t key_of(int side) { return side == 0 ? key : key ^ SECOND_SIDE; }

    static Entry &remembered(int side) {
        static std::vector<Entry> table(1 << 20);
        return table[key_of(side) % table.size()];
    }
};

/// The seconds to think: a second, or most of the time per move if that is less.
double thinking_s() {
    const char *told = std::getenv("GOMOKU_MOVE_TIME_S");
    const double move_s = told != nullptr ? std::strtod(told, nullptr) : 0;
    return move_s > 0 ? std::min(THINKING_S, SHARE * move_s) : THINKING_S;
}

/// The move of this step and, for the swap, the value that it expects.
std::pair<int, int> think() {
    std::vector<int> moves = candidates(0, POINTS);
    if (moves.empty()) {  // all points near the stones are taken
        moves = {static_cast<int>(std::find(owner.begin(), owner.end(), -1) - owner.begin())};
    }
    int best = moves[0];
    if (STEP == 1) {
        return {moves[generator() % moves.size()], 0};
    }
    if (STEP >= 7) {
        thinking.start(FOURS_SHARE * thinking_s());
    }
    if ((STEP == 5 || STEP >= 8) && wins_by_fours(0, MOST_FOURS, &best)) {
        return {best, WON};
    }
    if (STEP >= 7) {
        thinking.start(thinking_s());
        return Deepening().best_move(best, MOST_PLIES);
    }
    if (STEP == 6) {
        return Deepening().best_move(best, DEPTH_WITHOUT_CLOCK);
    }
    constexpr std::array<int, 6> DEPTHS = {0, 0, 1, 2, 4, 4};
    const int value = search(0, DEPTHS[std::min(STEP, 5)], -2 * WON, 2 * WON, &best);
    return {best, value};
}

/// Black's first stone anywhere in the centre, and a third stone after which neither side is much better off.
int opening_point() {
    const char *opening = std::getenv("GOMOKU_OPENING");
    int x = 0, y = 0, best = 0, least = WON;
    if (stones == 0 && opening != nullptr && std::sscanf(opening, "%d %d", &x, &y) == 2) {
        return x * SIZE + y;
    }
    if (stones == 0) {
        return (4 + static_cast<int>(generator() % 7)) * SIZE + 4 + static_cast<int>(generator() % 7);
    }
    for (int point = 0; point < POINTS; ++point) {
        if (owner[point] == -1) {
            place(point, 0);
            const int imbalance = std::abs(prospects[0].worth - prospects[1].worth * 5 / 4);
            const int difference = 100 * imbalance + static_cast<int>(generator() % 100);
            take_back(point);
            if (difference < least) {
                least = difference;
                best = point;
            }
        }
    }
    return best;
}

std::pair<int, int> played(int point) {
    place(point, 0);
    return {point / SIZE, point % SIZE};
}

}  // namespace

void init() {
    const char *seed = std::getenv("GOMOKU_SEED");
    const auto now = std::chrono::high_resolution_clock::now().time_since_epoch().count();
    generator.seed(seed != nullptr ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10)) : static_cast<unsigned>(now));
    owner.fill(-1);
    std::mt19937_64 bits;
    for (int point = 0; point < POINTS; ++point) {
        zobrist[0][point] = bits();
        zobrist[1][point] = bits();
        for (int other = 0; other < POINTS; ++other) {
            const int rows = std::abs(point / SIZE - other / SIZE), columns = std::abs(point % SIZE - other % SIZE);
            if (std::max(rows, columns) <= 2) {
                around[point].push_back(other);
            }
        }
    }
    constexpr int STEPS[][2] = {{1, 0}, {0, 1}, {1, 1}, {1, -1}};
    for (int start = 0; start < POINTS; ++start) {
        for (const auto &[dx, dy] : STEPS) {
            const int x = start / SIZE + (FIVE - 1) * dx, y = start % SIZE + (FIVE - 1) * dy;
            if (x < SIZE && y >= 0 && y < SIZE) {
                Window window = {{}, {0, 0}};
                for (int i = 0; i < FIVE; ++i) {
                    window.points[i] = start + i * (dx * SIZE + dy);
                    through[window.points[i]].push_back(static_cast<int>(windows.size()));
                }
                windows.push_back(window);
                count_window(window, 0, 1);
                count_window(window, 1, 1);
            }
        }
    }
    ai_set_stone = [](int x, int y, bool mine) { place(x * SIZE + y, mine ? 0 : 1); };
}

std::pair<int, int> action(std::pair<int, int> loc) {
    if (loc != NOTHING) {
        place(loc.first * SIZE + loc.second, 1);
    } else if (stones > 0) {
        swap_colours();  // the opponent, white, has swapped
    }
    if (ai_side == 0 && (stones == 0 || (stones == 2 && loc != NOTHING))) {
        return played(opening_point());
    }
    const auto [move, value] = think();
    if (ai_side == 1 && stones == 3 && value < 0 && std::getenv("GOMOKU_NO_SWAP") == nullptr) {
        swap_colours();
        return NOTHING;
    }
    return played(move);
}
