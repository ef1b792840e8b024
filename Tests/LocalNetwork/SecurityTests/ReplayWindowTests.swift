#if UDP
    import MeshBase
    import Testing

    @testable import MeshSecurity

    @Suite struct ReplayWindowTests {
        private static let size = Int(ReplayWindow.size)

        /// The expected verdicts, computed from a set that forgets nothing.
        private struct Model {
            var seen: Set<UInt64> = []
            var highest: UInt64?

            func verdict(on counter: UInt64) -> ReplayWindow.Verdict {
                if let highest, counter <= highest, highest - counter >= ReplayWindow.size { return .tooOld }
                return seen.contains(counter) ? .seen : .fresh
            }

            mutating func insert(_ counter: UInt64) {
                seen.insert(counter)
                highest = max(highest ?? 0, counter)
            }
        }

        @Test func `The window has its stated size`() {
            #expect(ReplayWindow.size >= 1024)
        }

        @Test func `Every distance from the highest counter is judged correctly`() {
            let ends: [UInt64] = [
                1983, 1984, 1985, 2047, 2048, 2049, 4095, 4096, 100_000, .max - 2048, .max - 64, .max - 1,
            ]
            for highest in Array(0...130) + ends {
                var window = ReplayWindow()
                window.insert(highest)
                for distance in 0...UInt64(Self.size + 130) where distance <= highest {
                    let expected: ReplayWindow.Verdict =
                        distance == 0 ? .seen : distance < ReplayWindow.size ? .fresh : .tooOld
                    #expect(window.verdict(on: highest - distance) == expected, "\(highest) - \(distance)")
                }
                #expect(window.verdict(on: highest + 1) == .fresh)
            }
        }

        @Test func `After a leap of any length no earlier counter is misjudged`() {
            var full = ReplayWindow()
            for counter in 0..<UInt64(Self.size) { full.insert(counter) }
            let leaps: [UInt64] = Array(1...200) + Array(1900...2200) + [3967, 3968, 4096, 6000, 1 << 40]
            for leap in leaps {
                var window = full
                let highest = ReplayWindow.size - 1 + leap
                window.insert(highest)
                var wrong = 0
                for counter in highest - ReplayWindow.size + 1...highest {
                    let isSeen = counter < ReplayWindow.size || counter == highest
                    wrong += window.verdict(on: counter) == (isSeen ? .seen : .fresh) ? 0 : 1
                }
                #expect(wrong == 0, "leap \(leap)")
                #expect(window.verdict(on: highest - ReplayWindow.size) == .tooOld)
            }
        }

        @Test(arguments: 0..<60 as Range<UInt64>) func `The window agrees with a set, in any order`(seed: UInt64) {
            var random = SplitMix64(seed: seed)
            var (window, model) = (ReplayWindow(), Model())
            var position = seed % 2 == 0 ? 0 : random.next() >> 1
            for _ in 0..<3000 {
                switch random.upTo(9) {
                case 0: position += random.upTo(300)
                case 1 where random.happens(rate: 0.05): position += random.upTo(5000)
                default: position += 1
                }
                let behind = random.happens(rate: 0.5) ? random.upTo(5) : random.upTo(2200)
                let counter = position - min(behind, position)
                let verdict = window.verdict(on: counter)
                #expect(verdict == model.verdict(on: counter), "seed \(seed), counter \(counter)")
                guard verdict == .fresh else { continue }
                window.insert(counter)
                model.insert(counter)
            }
        }
    }
#endif
