// Templates, virtual functions, lambdas and much of the standard library inlined into each other.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

namespace geometry {

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
    virtual std::string name() const = 0;
};

template <typename Number>
struct Box final : Shape {
    Number width, height;
    Box(Number w, Number h) : width(w), height(h) {}
    double area() const override { return double(width) * double(height); }
    std::string name() const override { return "box of " + std::to_string(area()); }
};

struct Circle final : Shape {
    double radius;
    explicit Circle(double r) : radius(r) {}
    double area() const override { return 3.14159 * radius * radius; }
    std::string name() const override { return "circle"; }
};

template <typename Range>
auto total(const Range &shapes) {
    return std::accumulate(shapes.begin(), shapes.end(), 0.0,
                           [](double sum, const auto &shape) { return sum + shape->area(); });
}

}  // namespace geometry

int main(int argc, char **argv) {
    using namespace geometry;
    std::vector<std::unique_ptr<Shape>> shapes;
    std::map<std::string, std::vector<double>> by_name;
    for (int i = 0; i < argc + 20; ++i) {
        if (i % 3 == 0) shapes.push_back(std::make_unique<Box<int>>(i, i + 1));
        else if (i % 3 == 1) shapes.push_back(std::make_unique<Box<float>>(i * 0.5f, 2.0f));
        else shapes.push_back(std::make_unique<Circle>(i));
    }
    std::sort(shapes.begin(), shapes.end(),
              [](const auto &a, const auto &b) { return a->area() < b->area(); });
    for (const auto &shape : shapes) by_name[shape->name()].push_back(shape->area());
    try {
        if (argc > 40) throw std::string(argv[0]);
        for (const auto &[name, areas] : by_name)
            std::printf("%s: %zu, %f\n", name.c_str(), areas.size(), areas.at(argc > 30));
    } catch (const std::string &message) {
        std::puts(message.c_str());
    }
    return total(shapes) > 1e9;
}
