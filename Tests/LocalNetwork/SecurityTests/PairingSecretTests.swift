#if UDP
    import MeshBase
    import Testing

    @testable import MeshSecurity

    @Suite struct PairingSecretTests {
        private static let alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

        @Test func `A secret's text can be read back in any spelling`() throws {
            var random = SplitMix64(seed: 1)
            for _ in 0..<500 {
                let secret = PairingSecret(bytes: (0..<16).map { _ in UInt8.random(in: 0 ... .max, using: &random) })
                let text = secret.text
                #expect(text.utf8.count == 34 && text.split(separator: "-").allSatisfy { $0.count == 4 })
                let forms = [
                    text, text.lowercased(), text.filter { $0 != "-" }, " " + text.replacing("-", with: "  "),
                    text.replacing("0", with: "o").replacing("1", with: "l"),
                    text.replacing("0", with: "O").replacing("1", with: "I"),
                ]
                for form in forms { #expect(PairingSecret(form) == secret, "\(form)") }
            }
            #expect(PairingSecret() != PairingSecret())
            let most = PairingSecret(bytes: [UInt8](repeating: 0xFF, count: 16))
            #expect(PairingSecret(most.text) == most)
        }

        @Test func `One wrong character, one too many or too few, or two exchanged are always noticed`() {
            var random = SplitMix64(seed: 2)
            for _ in 0..<40 {
                let secret = PairingSecret(bytes: (0..<16).map { _ in UInt8.random(in: 0 ... .max, using: &random) })
                let text = Array(secret.text.filter { $0 != "-" })
                for index in text.indices {
                    var typed = text
                    for wrong in Self.alphabet where wrong != text[index] {
                        typed[index] = wrong
                        #expect(PairingSecret(String(typed)) == nil)
                    }
                    typed = text
                    typed.remove(at: index)
                    #expect(PairingSecret(String(typed)) == nil)
                    typed = text
                    typed.insert(text[index], at: index)
                    #expect(PairingSecret(String(typed)) == nil)
                    typed = text
                    typed.swapAt(index, (index + 1) % text.count)
                    guard index + 1 < text.count, typed != text else { continue }
                    #expect(PairingSecret(String(typed)) == nil)
                }
            }
        }

        @Test func `Other texts aren't secrets`() {
            let text = PairingSecret().text
            for stranger in ["U", "u", "_", "\n", "é", "\0", "*"] {
                #expect(PairingSecret(stranger + text.dropFirst()) == nil)
            }
            for nothing in ["", "-", String(repeating: "0", count: 28), String(repeating: "-", count: 1 << 20) + text] {
                #expect(PairingSecret(nothing) == nil)
            }
        }
    }
#endif
