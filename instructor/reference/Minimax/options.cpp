#include "options.h"

#include <algorithm>
#include <sstream>

std::string switch_off(const std::string &names, Options &options) {
    std::istringstream list(names);
    std::string name;
    while (std::getline(list, name, ',')) {
        const auto idea = std::find_if(IDEAS.begin(), IDEAS.end(), [&](const Idea &known) { return name == known.name; });
        if (idea == IDEAS.end()) {
            std::string sentence = "expected a comma-separated list of names among";
            for (const Idea &known : IDEAS) {
                sentence += std::string(" ") + known.name;
            }
            return sentence + "; got '" + name + "'.";
        }
        options.*(idea->flag) = false;
    }
    return "";
}
