#include "opening.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int BLACK = 0;
constexpr int WHITE = 1;
// From the third stone to the nearer of the first two. In 1100 games against the baseline the owner of two stones lost 6 % with
// the third stone at distance 3, 13 % at 4 or 5, and more beyond; at 2 white swaps and takes them.
constexpr int DISTANCE = 3;
// Two rounds of searches: of so many points to the first depth, of the most even ones to the second.
constexpr int FIRST_DEPTH = 4;
constexpr int SECOND_DEPTH = 8;
constexpr std::size_t FIRST_POINTS = 40;
constexpr std::size_t SECOND_POINTS = 8;
constexpr std::size_t CHOICES = 3;  // one of the most even of all is drawn

int distance_to_stones(const Position &position, int cell) {
    int nearest = SIZE;
    for (const int point : position.points()) {
        if (!position.is_empty(point)) {
            nearest = std::min(nearest, std::max(std::abs(x_of(point) - x_of(cell)), std::abs(y_of(point) - y_of(cell))));
        }
    }
    return nearest;
}

}  // namespace

int first_stone(std::mt19937 &generator) {
    const int x = 4 + static_cast<int>(generator() % 7);
    const int y = 4 + static_cast<int>(generator() % 7);
    const char *imposed = std::getenv("GOMOKU_OPENING");  // so that both games of a pair begin alike
    int column = 0;
    int row = 0;
    if (imposed != nullptr && std::sscanf(imposed, "%d %d", &column, &row) == 2 && std::min(column, row) >= 4 &&
        std::max(column, row) <= 10) {
        return cell_of(column, row);
    }
    return cell_of(x, y);
}

int balanced_stone(Position &position, Search &search, const Limits &limits, std::mt19937 &generator) {
    const Clock clock(limits.budget_s);
    std::vector<std::pair<int, int>> places;  // size of white's score, who is to move; cell
    for (const int cell : position.points()) {
        if (distance_to_stones(position, cell) == DISTANCE) {
            places.emplace_back(0, cell);
        }
    }
    std::shuffle(places.begin(), places.end(), generator);
    places.resize(std::min(places.size(), FIRST_POINTS));
    for (const int depth : {FIRST_DEPTH, SECOND_DEPTH}) {
        const Limits share = limits.part(2 * static_cast<int>(places.size()), depth);
        for (auto &[unevenness, cell] : places) {
            if (clock.is_over()) {
                break;
            }
            position.put(cell, BLACK);
            unevenness = std::abs(search.run(WHITE, share).score);
            position.take(cell);
        }
        std::sort(places.begin(), places.end());
        places.resize(std::min(places.size(), SECOND_POINTS));
    }
    return places[generator() % std::min(places.size(), CHOICES)].second;
}
