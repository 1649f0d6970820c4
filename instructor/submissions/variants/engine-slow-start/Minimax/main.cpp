// Builds its tables for a second before it gives its name, reads nothing of the environment, plans by wall clock, and
// compiles as one source: search.cpp is included, not compiled beside this one.
#include "search.cpp"

#include "AIController.h"

std::string ai_name = "五子棋 Gewinnt-Müller 3.0 ♟";

void init() {
    srand(static_cast<unsigned>(time(NULL)) ^ static_cast<unsigned>(clock()));
    const clock_t begin = clock();
    while (clock() - begin < CLOCKS_PER_SEC) {
        fill_tables();
    }
    std::cerr << "tables are filled" << std::endl;
}

std::pair<int, int> action(std::pair<int, int> loc) {
    if (loc == std::make_pair(-1, -1)) {
        if (count == 0) {
            const int x = 5 + rand() % 5;
            const int y = 5 + rand() % 5;
            put(x, y, ME);
            return {x, y};
        }
        swap_sides();
    } else {
        put(loc.first, loc.second, FOE);
    }
    // The search sees black ahead by a good deal before it gives up its own stone.
    if (ai_side == 1 && count == 3 && evaluate(ME) < -40) {
        swap_sides();
        return {-1, -1};
    }
    const std::pair<int, int> point = think();
    put(point.first, point.second, ME);
    std::cerr << "played " << point.first << "," << point.second << std::endl;
    return point;
}
