#include "AIController.h"
#include "parts/board.hpp"

#include <random>

std::string ai_name = "parts";

namespace {
Board board;
std::mt19937_64 numbers;
}  // namespace

void init() { numbers.seed(static_cast<unsigned long>(std::time(nullptr))); }

std::pair<int, int> action(std::pair<int, int> loc) {
    const bool no_stone = loc == std::make_pair(-1, -1);
    if (!no_stone) {
        board.put(loc, 1 - ai_side);
    } else if (board.count() > 0) {
        board.exchange();
    }
    if (ai_side == 1 && board.count() == 3 && numbers() % 3 == 0) {
        board.exchange();
        return {-1, -1};
    }
    const bool first = board.count() == 0;
    std::vector<std::pair<int, int>> points = board.free_points(first ? 4 : 0, first ? 10 : 14);
    std::vector<std::pair<int, int>> near;
    for (const auto &point : points) {
        if (board.touches(point)) {
            near.push_back(point);
        }
    }
    const auto &choice = near.empty() ? points : near;
    const auto point = choice[numbers() % choice.size()];
    board.put(point, ai_side);
    return point;
}
