#include "opening.h"

#include <algorithm>
#include <cstdlib>

namespace {

constexpr int BLACK = 0;
constexpr int WHITE = 1;
constexpr int FIRST_LOOK = 3;
constexpr int SECOND_LOOK = 6;
constexpr std::size_t KEPT = 12;
constexpr std::size_t CHOICES = 4;

}  // namespace

int first_stone(std::mt19937 &generator) {
    const int x = 4 + static_cast<int>(generator() % 7);
    const int y = 4 + static_cast<int>(generator() % 7);
    return cell_of(x, y);
}

int balanced_stone(Position &position, Search &search, double budget_s, std::mt19937 &generator) {
    const Clock clock(budget_s);
    std::vector<std::pair<int, int>> places;  // how far from even for white, who is to move; cell
    for (const int cell : position.points()) {
        if (position.is_empty(cell) && x_of(cell) >= 2 && x_of(cell) <= SIZE - 3 && y_of(cell) >= 2 && y_of(cell) <= SIZE - 3) {
            places.emplace_back(0, cell);
        }
    }
    std::shuffle(places.begin(), places.end(), generator);
    for (const int depth : {FIRST_LOOK, SECOND_LOOK}) {
        const double share_s = budget_s / (2.0 * static_cast<double>(places.size()));
        for (auto &[uneven, cell] : places) {
            if (clock.is_over()) {
                break;
            }
            position.put(cell, BLACK);
            uneven = std::abs(search.run(WHITE, share_s, depth).score);
            position.take(cell);
        }
        std::sort(places.begin(), places.end());
        places.resize(std::min(places.size(), KEPT));
    }
    return places[generator() % std::min(places.size(), CHOICES)].second;
}
