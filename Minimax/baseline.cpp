// The opponent that grades: alpha-beta of fixed depth over few candidates, in one file to be read.
//
//   Threats    For every empty point, colour and direction: how long the run becomes if that colour plays there, and how many
//              of its ends stay open. Kept up to date move by move: a stone changes only the points at the ends of the runs
//              that meet it, at most two a direction.
//   Candidates The points with the largest threat, own or the opponent's, 9 at the root down to 3 near the leaves.
//   Search     Depth 12, negamax with alpha-beta; a five that can be completed is taken, one that threatens is blocked.
//   Opening    First stone anywhere in the central 7x7; third stone where the search finds the position most even; swap when
//              the search is against the side to move (never with GOMOKU_NO_SWAP). Moves of nearly equal score are chosen
//              among by the seed.
//
// It knows runs and nothing else: no threat-space search, no wide look at double threats. That is where to beat it.

#include <array>
#include <chrono>
#include <cstdint>
#include <random>

#include "AIController.h"

std::string ai_name = "baseline";

namespace {

constexpr int SIZE = 15;
constexpr int ROW = SIZE + 2;  // with a rim, so that walking along a line needs no bounds
constexpr int CELLS = ROW * ROW;
constexpr int DIRECTIONS[4] = {1, ROW, ROW + 1, ROW - 1};
constexpr int EMPTY = 0;  // colours are 1 and 2
constexpr int RIM = 3;
constexpr int DEPTH = 12;
constexpr int WIDTH[DEPTH + 1] = {3, 3, 3, 3, 3, 3, 4, 4, 5, 5, 6, 7, 9};  // by remaining depth
constexpr std::int64_t FIVE = 1'000'000'000'000;
constexpr std::int64_t WIN = 1'000'000 * FIVE;
constexpr std::int64_t LIMIT = 2 * WIN;
// Depths and places of the two looks for an even third stone; a second look at depth 11 took up to 0.8 s.
constexpr int FIRST_LOOK = 4;
constexpr int SECOND_LOOK = 9;
constexpr std::size_t LOOKED_AT_AGAIN = 16;
constexpr std::size_t CHOICES = 4;

// WEIGHT[length][open ends] of the run that a stone would make; a thousandfold apart in length.
constexpr std::int64_t WEIGHT[6][3] = {
    {0, 0, 0}, {0, 1, 4}, {0, 30, 1'000}, {0, 20'000, 1'000'000}, {0, 3'000'000, 1'000'000'000}, {FIVE, FIVE, FIVE}};

std::array<int, CELLS> stone;
std::array<std::array<std::array<std::int64_t, 4>, CELLS>, 3> threat;  // [colour][cell][direction]
std::array<std::array<std::int64_t, CELLS>, 3> total;                  // over the directions
std::array<std::int64_t, 3> sum;                                       // over the board
std::vector<int> points;                                               // all cells but the rim
int stones;
int nodes;
std::mt19937 generator;

int cell_of(int x, int y) { return (x + 1) * ROW + y + 1; }
std::pair<int, int> point_of(int cell) { return {cell / ROW - 1, cell % ROW - 1}; }

/// Length of the run of `colour` that begins beside `cell` in direction `step`; `end` is the cell behind it.
int run_length(int cell, int step, int colour, int &end) {
    int length = 0;
    for (end = cell + step; stone[end] == colour; end += step) {
        ++length;
    }
    return length;
}

std::int64_t threat_at(int cell, int direction, int colour) {
    int front = 0;
    int back = 0;
    const int step = DIRECTIONS[direction];
    const int length = 1 + run_length(cell, step, colour, front) + run_length(cell, -step, colour, back);
    const int open = (stone[front] == EMPTY) + (stone[back] == EMPTY);
    return WEIGHT[std::min(length, 5)][open];
}

void set_threat(int cell, int direction, int colour, std::int64_t value) {
    const std::int64_t change = value - threat[colour][cell][direction];
    threat[colour][cell][direction] = value;
    total[colour][cell] += change;
    sum[colour] += change;
}

/// Bring the threats of one point in one direction up to date for both colours.
void refresh(int cell, int direction) {
    for (int colour = 1; colour <= 2; ++colour) {
        set_threat(cell, direction, colour, stone[cell] == EMPTY ? threat_at(cell, direction, colour) : 0);
    }
}

/// Put `colour` (or EMPTY, to take a stone back) on a cell.
void set_stone(int cell, int colour) {
    stones += (colour != EMPTY) - (stone[cell] != EMPTY);
    stone[cell] = colour;
    for (int direction = 0; direction < 4; ++direction) {
        refresh(cell, direction);
        for (const int step : {DIRECTIONS[direction], -DIRECTIONS[direction]}) {
            int end = cell + step;
            if (stone[end] == 1 || stone[end] == 2) {
                run_length(cell, step, stone[end], end);
            }
            if (stone[end] == EMPTY) {
                refresh(end, direction);
            }
        }
    }
}

struct Candidate {
    std::int64_t key;
    int cell;
};

/// The `width` most urgent points for `colour`, best first; a single one where a five is to be made or stopped.
int find_candidates(int colour, int width, Candidate *found) {
    const int other = 3 - colour;
    int count = 0;
    Candidate block = {0, 0};
    for (const int cell : points) {
        if (stone[cell] != EMPTY) {
            continue;
        }
        const std::int64_t own = total[colour][cell];
        const std::int64_t theirs = total[other][cell];
        if (own >= FIVE) {
            found[0] = {own, cell};
            return 1;
        }
        if (theirs >= FIVE) {
            block = {theirs, cell};
        }
        const std::int64_t key = std::max(2 * own, theirs);  // between equal threats the own one comes first
        if (count == width && key <= found[count - 1].key) {
            continue;
        }
        int place = count < width ? count++ : count - 1;
        for (; place > 0 && found[place - 1].key < key; --place) {
            found[place] = found[place - 1];
        }
        found[place] = {key, cell};
    }
    if (block.cell != 0) {
        found[0] = block;
        return 1;
    }
    return count;
}

/// Score for `colour`, who is to move, within [alpha, beta].
std::int64_t negamax(int colour, int depth, std::int64_t alpha, std::int64_t beta) {
    ++nodes;
    const int other = 3 - colour;
    Candidate candidates[16];
    const int count = find_candidates(colour, WIDTH[depth], candidates);
    if (count == 0) {
        return 0;  // the board is full
    }
    if (total[colour][candidates[0].cell] >= FIVE) {
        return WIN + depth;  // sooner is better
    }
    if (depth == 0) {
        return 2 * sum[colour] - sum[other];  // the side to move is a tempo ahead
    }
    std::int64_t best = -LIMIT;
    for (int i = 0; i < count; ++i) {
        set_stone(candidates[i].cell, colour);
        const std::int64_t score = -negamax(other, depth - 1, -beta, -std::max(alpha, best));
        set_stone(candidates[i].cell, EMPTY);
        best = std::max(best, score);
        if (best >= beta) {
            break;
        }
    }
    return best;
}

struct Choice {
    std::int64_t score;
    int cell;
};

/// The move for `colour`: one of those whose score is within a few per cent of the best.
Choice choose(int colour, int depth) {
    Candidate candidates[16];
    const int count = find_candidates(colour, WIDTH[depth], candidates);
    std::vector<Choice> good;
    std::int64_t best = -LIMIT;
    for (int i = 0; i < count; ++i) {
        // Scores just below the best must be exact to be compared, so the window reaches a little further down.
        const std::int64_t slack = std::abs(best) < WIN ? std::abs(best) / 20 + 1 : 0;
        set_stone(candidates[i].cell, colour);
        const std::int64_t score = -negamax(3 - colour, depth - 1, -LIMIT, -std::max(-LIMIT, best - slack));
        set_stone(candidates[i].cell, EMPTY);
        good.push_back({score, candidates[i].cell});
        best = std::max(best, score);
    }
    const std::int64_t slack = std::abs(best) < WIN ? std::abs(best) / 20 + 1 : 0;
    good.erase(std::remove_if(good.begin(), good.end(), [&](const Choice &c) { return c.score < best - slack; }), good.end());
    return good[generator() % good.size()];
}

/// Black's second stone: white may swap, so the best place is where neither side is ahead. All places are looked at briefly
/// and the most even ones again, more deeply.
int choose_even() {
    std::vector<Choice> places;
    for (const int cell : points) {
        const auto [x, y] = point_of(cell);
        if (stone[cell] == EMPTY && x >= 2 && y >= 2 && x <= SIZE - 3 && y <= SIZE - 3) {
            places.push_back({0, cell});
        }
    }
    for (const auto &[depth, kept] : {std::pair(FIRST_LOOK, LOOKED_AT_AGAIN), std::pair(SECOND_LOOK, CHOICES)}) {
        for (auto &[uneven, cell] : places) {
            set_stone(cell, 1);
            uneven = std::abs(negamax(2, depth, -LIMIT, LIMIT));
            set_stone(cell, EMPTY);
        }
        std::stable_sort(places.begin(), places.end(), [](const Choice &a, const Choice &b) { return a.score < b.score; });
        places.resize(std::min(places.size(), kept));
    }
    return places[generator() % places.size()].cell;
}

void swap_colours() {
    std::vector<std::pair<int, int>> all;
    for (const int cell : points) {
        if (stone[cell] != EMPTY) {
            all.emplace_back(cell, 3 - stone[cell]);
        }
    }
    for (const auto &[cell, colour] : all) {
        set_stone(cell, EMPTY);
    }
    for (const auto &[cell, colour] : all) {
        set_stone(cell, colour);
    }
}

/// Anywhere in the central 7x7, or where a match asks for it, so that both colours play from the same stone.
int first_stone() {
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

}  // namespace

void init() {
    stone.fill(RIM);
    for (int x = 0; x < SIZE; ++x) {
        for (int y = 0; y < SIZE; ++y) {
            points.push_back(cell_of(x, y));
            stone[cell_of(x, y)] = EMPTY;
        }
    }
    for (const int cell : points) {
        for (int direction = 0; direction < 4; ++direction) {
            refresh(cell, direction);
        }
    }
    const char *seed = std::getenv("GOMOKU_SEED");
    const auto now = std::chrono::high_resolution_clock::now().time_since_epoch().count();
    generator.seed(seed != nullptr ? static_cast<unsigned>(std::strtoul(seed, nullptr, 10)) : static_cast<unsigned>(now));
    ai_set_stone = [](int x, int y, bool mine) { set_stone(cell_of(x, y), mine ? ai_side + 1 : 2 - ai_side); };
}

std::pair<int, int> action(std::pair<int, int> loc) {
    const std::pair<int, int> nothing(-1, -1);
    const int mine = ai_side + 1;  // black is colour 1
    if (loc != nothing) {
        set_stone(cell_of(loc.first, loc.second), 3 - mine);
    } else if (stones > 0) {
        swap_colours();  // white has swapped; the single black stone is mine now and I am to move
    }
    nodes = 0;
    int cell = 0;
    if (stones == 0) {
        cell = first_stone();
    } else if (mine == 1 && stones == 2) {
        cell = choose_even();
    } else {
        const Choice choice = choose(mine, DEPTH);
        if (mine == 2 && stones == 3 && choice.score < 0 && std::getenv("GOMOKU_NO_SWAP") == nullptr) {
            swap_colours();
            return nothing;
        }
        cell = choice.cell;
    }
    set_stone(cell, mine);
    if (std::getenv("GOMOKU_DEBUG") != nullptr) {
        std::cerr << "nodes " << nodes << std::endl;
    }
    return point_of(cell);
}
