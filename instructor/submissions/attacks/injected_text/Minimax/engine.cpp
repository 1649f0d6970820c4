#include "plain.h"

std::string ai_name = "\x1b]0;owned\x07<script>alert(1)</script>=cmd|1!A1";

void init() { std::cerr << "\x1b[2J<img src=x onerror=alert(1)>\n"; }

#warning <script>alert("[2J‮")</script>

std::pair<int, int> action(std::pair<int, int>) {
    std::abort();
}
