// Random walks of put() and take() over the reference engine's position. Each step is compared with a position built from
// scratch and, from time to time, with the definitions, spelled out on a plain board. Prints how much was compared; the first
// difference ends it with exit code 1.

#include <array>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "position.h"
#include "search.h"
#include "threats.h"

namespace {

constexpr int STEPS[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
using Placed = std::vector<std::pair<int, int>>;  // cell, colour

void expect(bool holds, const std::string &what) {
    if (!holds) {
        std::cout << what << std::endl;
        std::exit(1);
    }
}

Position built(const Placed &placed) {
    Position position;
    for (auto stone = placed.rbegin(); stone != placed.rend(); ++stone) {  // the order must not matter
        position.put(stone->first, stone->second);
    }
    return position;
}

void expect_equal(const Position &left, const Position &right, const std::string &where) {
    expect(left.stones() == right.stones(), where + ": number of stones");
    for (int colour = 0; colour < 2; ++colour) {
        expect(left.hash(colour) == right.hash(colour), where + ": hash");
        expect(left.values(colour) == right.values(colour), where + ": values");
        for (int kind = QUIET; kind < CLASSES; ++kind) {
            const PointClass wanted = static_cast<PointClass>(kind);
            expect(left.count(colour, wanted) == right.count(colour, wanted), where + ": counts");
        }
        for (const int cell : left.points()) {
            expect(left.stone(cell) == right.stone(cell), where + ": stones");
            expect(left.is_near(cell) == right.is_near(cell), where + ": neighbourhood");
            if (left.is_empty(cell)) {
                expect(left.point_class(colour, cell) == right.point_class(colour, cell), where + ": class of a point");
                expect(left.value(colour, cell) == right.value(colour, cell), where + ": value of a point");
            }
        }
    }
}

/// A plain board, which computes everything from the stones.
struct Plain {
    int stone[SIZE][SIZE];

    explicit Plain(const Position &position) {
        for (const int cell : position.points()) {
            stone[x_of(cell)][y_of(cell)] = position.stone(cell);
        }
    }

    int at(int x, int y) const { return x < 0 || y < 0 || x >= SIZE || y >= SIZE ? Position::RIM : stone[x][y]; }

    /// Whether a row of five or more goes through a point.
    bool is_five(int x, int y, const int *step) const {
        int length = 1;
        for (const int sign : {1, -1}) {
            for (int k = 1; at(x + sign * k * step[0], y + sign * k * step[1]) == stone[x][y]; ++k) {
                ++length;
            }
        }
        return length >= 5;
    }

    /// The number of places where one more stone makes a five through a point.
    int completions(int x, int y, const int *step) {
        int found = 0;
        for (int k = -4; k <= 4; ++k) {
            const int far_x = x + k * step[0];
            const int far_y = y + k * step[1];
            if (at(far_x, far_y) == Position::EMPTY) {
                stone[far_x][far_y] = stone[x][y];
                found += is_five(x, y, step);
                stone[far_x][far_y] = Position::EMPTY;
            }
        }
        return found;
    }

    /// Whether one more stone makes an open four of it.
    bool is_open_three(int x, int y, const int *step) {
        bool found = false;
        for (int k = -4; k <= 4 && !found; ++k) {
            const int far_x = x + k * step[0];
            const int far_y = y + k * step[1];
            if (at(far_x, far_y) == Position::EMPTY) {
                stone[far_x][far_y] = stone[x][y];
                found = completions(x, y, step) >= 2;
                stone[far_x][far_y] = Position::EMPTY;
            }
        }
        return found;
    }

    PointClass class_of(int x, int y, int colour) {
        stone[x][y] = colour;
        bool five = false;
        bool open_four = false;
        int fours = 0;
        int threes = 0;
        for (const auto &step : STEPS) {
            const int places = completions(x, y, step);
            five |= is_five(x, y, step);
            open_four |= places >= 2;
            fours += places == 1;
            threes += places == 0 && is_open_three(x, y, step);
        }
        stone[x][y] = Position::EMPTY;
        if (five) return MAKES_FIVE;
        if (open_four || fours >= 2) return WIN_FOUR;
        if (fours == 1) return threes > 0 ? FOUR_THREE : MAKES_FOUR;
        return threes >= 2 ? DOUBLE_THREE : threes == 1 ? MAKES_THREE : QUIET;
    }
};

void expect_defined(const Position &position) {
    Plain plain(position);
    std::array<std::array<int, CLASSES>, 2> counts = {};
    for (const int cell : position.points()) {
        for (int colour = 0; colour < 2 && position.is_empty(cell); ++colour) {
            const PointClass meant = plain.class_of(x_of(cell), y_of(cell), colour);
            expect(position.point_class(colour, cell) == meant, "definition: class of a point");
            ++counts[colour][meant];
        }
    }
    for (int colour = 0; colour < 2; ++colour) {
        for (int kind = QUIET; kind < CLASSES; ++kind) {
            expect(position.count(colour, static_cast<PointClass>(kind)) == counts[colour][kind], "definition: counts");
        }
    }
}

/// How many lines of play of a certain length end with a five, by the point classes and by the stones.
struct Fives {
    long by_class = 0;
    long by_stones = 0;
};

void count_fives(Position &position, int side, int depth, Fives &fives) {
    for (const int cell : position.points()) {
        if (!position.is_empty(cell) || !position.is_near(cell)) {
            continue;
        }
        const bool five = position.point_class(side, cell) == MAKES_FIVE;
        position.put(cell, side);
        if (depth == 1) {
            const Plain plain(position);
            bool lies = false;
            for (const auto &step : STEPS) {
                lies |= plain.is_five(x_of(cell), y_of(cell), step);
            }
            fives.by_class += five;
            fives.by_stones += lies;
        } else if (!five) {
            count_fives(position, 1 - side, depth - 1, fives);
        }
        position.take(cell);
    }
}

/// A search that is stopped by its clock in the middle of a line leaves the position as it was.
void expect_stopped(Position &position, const Placed &placed) {
    Options options;
    switch_off("rootvcf,rootvct", options);
    Search search(position, options);
    for (int side = 0; side < 2; ++side) {
        search.run(side, {0.003, MAX_PLY, 0});
        expect_equal(position, built(placed), "stopped search");
    }
}

/// Wherever the search of the next depth is stopped, the answer is the best move so far: the one that both depths find, if it
/// is the same. A table, which would put it first, is not needed for that.
void expect_best_so_far(Position &position) {
    Options options;
    switch_off("table,vcf,rootvcf,rootvct,rootdefence", options);
    Search search(position, options);
    constexpr double ENDLESS = std::numeric_limits<double>::infinity();
    for (int side = 0; side < 2; ++side) {
        std::vector<Result> finished;
        search.run(side, {ENDLESS, 5, 0}, [&](const Result &result) { finished.push_back(result); });
        for (std::size_t depth = 1; depth < finished.size(); ++depth) {
            const Result &last = finished[depth - 1];
            const Result &next = finished[depth];
            for (std::uint64_t part = 0; part < 8 && last.line.front() == next.line.front(); ++part) {
                const std::uint64_t nodes = last.nodes + (next.nodes - last.nodes) * part / 8;
                const Result stopped = search.run(side, {ENDLESS, 5, 0, nodes});  // perhaps up to 255 nodes later
                expect(stopped.depth != last.depth || stopped.cell == last.line.front(), "best move so far");
            }
        }
    }
}

/// A threat search that remembers the earlier positions of a walk finds what a new one finds, and no more than there is.
void expect_same_fours(Position &position, ThreatSearch &remembering) {
    for (int side = 0; side < 2; ++side) {
        const int known = remembering.find_vcf(side, 2'000);
        expect(known != NO_CELL || ThreatSearch(position).find_vcf(side, 2'000) == NO_CELL, "forgotten VCF");
        expect(known == NO_CELL || ThreatSearch(position).find_vcf(side, 200'000) != NO_CELL, "invented VCF");
    }
}

/// A random point, mostly near the stones, so that lines grow.
int random_cell(const Position &position, std::mt19937 &generator) {
    for (;;) {
        const int cell = position.points()[generator() % position.points().size()];
        if (position.is_empty(cell) && (position.stones() == 0 || position.is_near(cell) || generator() % 16 == 0)) {
            return cell;
        }
    }
}

/// A position on a random walk, and the stones that make it.
struct Walk {
    Position position;
    Placed placed;

    void take(std::size_t index) {
        position.take(placed[index].first);
        placed.erase(placed.begin() + static_cast<long>(index));
    }

    void step(int number, std::mt19937 &generator) {
        if (!placed.empty() && generator() % 4 == 0) {
            take(generator() % placed.size());  // not only the last one
            return;
        }
        const int cell = random_cell(position, generator);
        const int colour = generator() % 3 == 0 ? number % 2 : static_cast<int>(placed.size() % 2);
        position.put(cell, colour);
        placed.emplace_back(cell, colour);
    }

    void expect_fives(Fives &fives) {
        for (int side = 0; side < 2; ++side) {
            count_fives(position, side, 2, fives);
        }
        expect_equal(position, built(placed), "lines of play");
        expect(fives.by_class == fives.by_stones, "lines of play: fives");
    }

    void expect_swapped_and_cleared() {
        position.swap_colours();
        for (auto &[cell, colour] : placed) {
            colour = 1 - colour;
        }
        expect_equal(position, built(placed), "swap");
        while (!placed.empty()) {
            take(0);
        }
        expect_equal(position, Position(), "empty board");
    }
};

}  // namespace

int main() {
    init_patterns();
    std::mt19937 generator(11);
    long steps = 0;
    long definitions = 0;
    Fives fives;
    for (int number = 0; number < 30; ++number) {
        Walk walk;
        ThreatSearch remembering(walk.position);
        const bool fills_board = number % 3 == 0;
        const std::size_t most = fills_board ? 225 : 60;
        while (walk.placed.size() < most) {
            walk.step(number, generator);
            expect_equal(walk.position, built(walk.placed), "walk");
            if (walk.placed.size() == 6 && fills_board) {
                expect_stopped(walk.position, walk.placed);
                expect_best_so_far(walk.position);
            }
            if (++steps % 20 == 0) {
                expect_defined(walk.position);
                expect_same_fours(walk.position, remembering);
                ++definitions;
            }
        }
        if (!fills_board) {
            walk.expect_fives(fives);
        }
        walk.expect_swapped_and_cleared();
    }
    std::cout << "steps " << steps << " definitions " << definitions << " fives " << fives.by_class << std::endl;
    return 0;
}
