// The milestones of Part 1 (docs/theory.md, section 11) as engines, one for each STEP, which is set when this file is compiled:
//   1 wins at once and stops fives, otherwise plays at random near the stones      2 greedy: the best evaluation after its move
//   3 alpha-beta to depth 2      4 alpha-beta to depth 4      5 the same, and victory by continuous fours
//
// The evaluation knows the windows of five points in a row. A window with stones of only one colour is worth VALUE[stones] to
// that colour. Each stone updates the windows through its point, of which there are at most 20. A value is for the side to
// move.

#include <array>
#include <chrono>
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
std::array<int, POINTS> owner;                 // -1 empty, 0 mine, 1 the opponent's
std::array<int, 2> worth;                      // of all windows
int stones;
std::mt19937 generator;

void add_to_windows(int point, int side, int change) {
    for (const int number : through[point]) {
        Window &window = windows[number];
        for (int each : {0, 1}) {
            worth[each] -= window.stones[1 - each] == 0 ? VALUE[window.stones[each]] : 0;
        }
        window.stones[side] += change;
        for (int each : {0, 1}) {
            worth[each] += window.stones[1 - each] == 0 ? VALUE[window.stones[each]] : 0;
        }
    }
}

void place(int point, int side) {
    owner[point] = side;
    ++stones;
    add_to_windows(point, side, 1);
}

void take_back(int point) {
    add_to_windows(point, owner[point], -1);
    owner[point] = -1;
    --stones;
}

void swap_colours() {
    for (int &side : owner) {
        side = side == -1 ? -1 : 1 - side;
    }
    for (Window &window : windows) {
        std::swap(window.stones[0], window.stones[1]);
    }
    std::swap(worth[0], worth[1]);
}

/// Empty points that complete a five of this side.
std::vector<int> winning_points(int side) {
    std::vector<int> found;
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

/// What the windows through an empty point promise to both sides if one of them plays there.
int promise(int point, int side) {
    int total = 0;
    for (const int number : through[point]) {
        const Window &window = windows[number];
        for (int each : {0, 1}) {
            if (window.stones[1 - each] == 0) {
                total += VALUE[window.stones[each] + 1] * (each == side ? 2 : 1);
            }
        }
    }
    return total;
}

bool near_a_stone(int point) {
    const int x = point / SIZE, y = point % SIZE;
    for (int i = std::max(0, x - 2); i <= std::min(SIZE - 1, x + 2); ++i) {
        for (int j = std::max(0, y - 2); j <= std::min(SIZE - 1, y + 2); ++j) {
            if (owner[i * SIZE + j] != -1) {
                return true;
            }
        }
    }
    return false;
}

/// The moves to search, most promising first; only the answer if there is a five to complete or to stop.
std::vector<int> candidates(int side, std::size_t most) {
    for (const int each : {side, 1 - side}) {
        const std::vector<int> forced = winning_points(each);
        if (!forced.empty()) {
            return {forced[0]};
        }
    }
    std::vector<std::pair<int, int>> ranked;
    for (int point = 0; point < POINTS; ++point) {
        if (owner[point] == -1 && near_a_stone(point)) {
            ranked.emplace_back(-promise(point, side), point);
        }
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<int> moves;
    for (std::size_t i = 0; i < ranked.size() && i < most; ++i) {
        moves.push_back(ranked[i].second);
    }
    return moves;
}

/// Whether the side to move wins by fours only, each of which leaves the opponent one answer; `first` is its first move.
bool wins_by_fours(int side, int most, int *first) {
    const std::vector<int> mine = winning_points(side), theirs = winning_points(1 - side);
    if (!mine.empty()) {
        *first = mine[0];
        return true;
    }
    if (most == 0 || theirs.size() > 1) {
        return false;
    }
    std::vector<int> moves = theirs;
    for (int point = 0; theirs.empty() && point < POINTS; ++point) {
        const auto makes_a_four = [side](int number) {
            return windows[number].stones[side] == FIVE - 2 && windows[number].stones[1 - side] == 0;
        };
        if (owner[point] == -1 && std::any_of(through[point].begin(), through[point].end(), makes_a_four)) {
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

int search(int side, int depth, int alpha, int beta, int *best) {
    if (worth[1 - side] >= WON) {
        return -WON - depth;  // the opponent has just completed a five; sooner is worse
    }
    int unused = 0;
    if (depth == 0) {
        if (STEP >= 5 && wins_by_fours(side, MOST_FOURS / 2, &unused)) {
            return WON;
        }
        return worth[side] * 5 / 4 - worth[1 - side];
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

/// The move of this step and, for the swap, the value that it expects.
std::pair<int, int> think() {
    std::vector<int> moves = candidates(0, POINTS);
    if (moves.empty()) {  // all points near the stones are taken
        moves = {static_cast<int>(std::find(owner.begin(), owner.end(), -1) - owner.begin())};
    }
    int best = moves[0], value = worth[0] - worth[1];
    if (STEP == 1) {
        return {moves[generator() % moves.size()], 0};
    }
    if (STEP >= 5 && wins_by_fours(0, MOST_FOURS, &best)) {
        return {best, WON};
    }
    constexpr std::array<int, 6> DEPTHS = {0, 0, 1, 2, 4, 4};
    value = search(0, DEPTHS[STEP], -2 * WON, 2 * WON, &best);
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
            const int difference = 100 * std::abs(worth[0] - worth[1] * 5 / 4) + static_cast<int>(generator() % 100);
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
