// Black's second stone where time is over after few searches: only points that a search has looked at are drawn. The choice of
// each number of searches is made with many seeds; the first wrong one ends the program with exit code 1.

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

#include "clock.h"
#include "opening.h"
#include "patterns.h"

namespace {

constexpr int STONES[2][2] = {{7, 7}, {3, 3}};

/// The points three away from the nearer stone, in the order in which they are searched.
std::vector<int> candidates(const Position &position, std::mt19937 generator) {
    std::vector<int> cells;
    for (const int cell : position.points()) {
        int nearest = SIZE;
        for (const auto &stone : STONES) {
            nearest = std::min(nearest, std::max(std::abs(x_of(cell) - stone[0]), std::abs(y_of(cell) - stone[1])));
        }
        if (nearest == 3) {
            cells.push_back(cell);
        }
    }
    std::shuffle(cells.begin(), cells.end(), generator);
    return cells;
}

}  // namespace

int main() {
    init_patterns();
    Position position;
    position.put(cell_of(STONES[0][0], STONES[0][1]), 0);
    position.put(cell_of(STONES[1][0], STONES[1][1]), 1);
    Search search(position, Options());
    for (int searches = 0; searches < 6; ++searches) {
        for (unsigned seed = 0; seed < 20; ++seed) {
            std::mt19937 generator(seed);
            const std::vector<int> cells = candidates(position, generator);
            Clock::started = 0;
            Clock::most = searches + 1;  // one is that of the move; the search after these is stopped at once
            const int cell = balanced_stone(position, search, {1.0, MAX_PLY, 0}, generator);
            const auto place = std::find(cells.begin(), cells.end(), cell) - cells.begin();
            if (place >= (searches > 0 ? searches : static_cast<int>(cells.size()))) {
                std::cout << "after " << searches << " searches point " << place << std::endl;
                return 1;
            }
        }
    }
    return 0;
}
