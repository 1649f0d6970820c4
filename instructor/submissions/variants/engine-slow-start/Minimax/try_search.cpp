// A program to try the search with, left beside the engine.
#include <iostream>

int main() {
    std::cout << "nothing to try" << std::endl;
    return 0;
}
