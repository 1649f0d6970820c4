#include "plain.h"

std::string ai_name = "plain";

void init() {}

std::pair<int, int> action(std::pair<int, int> loc) { return plain_answer(loc); }
