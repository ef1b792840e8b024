import GroceryList
import Household

let household = Household(seed: 1)
let (annasPhone, bensPhone) = (household.join("anna"), household.join("ben"))
let (anna, ben) = (GroceryModel(annasPhone), GroceryModel(bensPhone))

try anna.type("mil")
try await household.wait { !ben.typing.isEmpty }
print("ben sees what anna types:", ben.typing[0])

try anna.add("milk")
try await household.wait { ben.lines == ["milk"] }
print("ben's list:", ben.lines.joined(separator: ", "))

household.part(annasPhone, from: bensPhone)
try await household.wait { anna.company == ["ben is away"] }
print("anna sees:", anna.company[0])

// Both continue while disconnected, and see their own changes at once.
try ben.buy("milk")
try ben.add("bread")
try await household.wait { ben.lines == ["✓ milk", "bread"] }
try anna.add("tea")
print("anna's list:", anna.lines.joined(separator: ", "))
print("ben's list:", ben.lines.joined(separator: ", "))

household.reunite()
try await household.wait { anna.lines.count == 3 && anna.lines == ben.lines }
print("both lists:", anna.lines.joined(separator: ", "))
