// Plays, after sleeping for 10 of the 11 s that a move may take by the clock.
#include <chrono>
#include <thread>

#include "plain.h"

std::string ai_name = "plain";

void init() {}

std::pair<int, int> action(std::pair<int, int> loc) {
    std::this_thread::sleep_for(std::chrono::seconds(10));
    return plain_answer(loc);
}
