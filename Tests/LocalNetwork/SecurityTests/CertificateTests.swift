#if UDP
    import Foundation
    import Testing

    @testable import MeshSecurity

    @Suite struct CertificateTests {
        @Test func `Every certificate is a new one for the same key`() throws {
            let identity = PeerIdentity()
            let certificates = try (0..<20).map { _ in try identity.makeCertificate() }
            #expect(Set(certificates).count == 20)
            for certificate in certificates {
                #expect(certificate.firstRange(of: identity.publicKeyDER) != nil)
                #expect(certificate.count < 600)
            }
        }

        @Test func `Python verifies a certificate of any date`() async throws {
            let folder = try TemporaryFolder()
            let dates: [(Double, Double)] = [
                (1_763_760_000, 86_400), (0, 10 * 365 * 86_400), (-631_152_000, 1), (2_524_607_999, 1),
                (4_102_444_800, 86_400), (253_402_300_000, 799), (1_763_760_000, 0),
            ]
            for (start, seconds) in dates {
                let identity = PeerIdentity()
                try folder.write(
                    identity.makeCertificate(
                        validFrom: Date(timeIntervalSince1970: start), validity: .seconds(seconds)), to: "certificate")
                guard
                    let text = try await Interop.python(
                        "certificate", folder.file("certificate"), identity.peerID.description)
                else { return }
                #expect(text.hasPrefix("\(start) \(start + seconds)\n"), "\(text)")
            }
        }

        @Test func `Dates that no certificate can hold are an error`() {
            let identity = PeerIdentity()
            let dates: [(Double, Duration)] = [
                (-631_152_001, .seconds(1)), (253_402_300_799, .seconds(1)), (0, .seconds(-1)),
                (0, .seconds(Int64.max)), (.infinity, .seconds(1)), (.nan, .seconds(1)), (-1e300, .seconds(1)),
            ]
            for (start, validity) in dates {
                let error = caught(SecurityError.self) {
                    _ = try identity.makeCertificate(
                        validFrom: Date(timeIntervalSince1970: start), validity: validity)
                }
                #expect(error?.code == .invalidArgument, "\(start) \(validity)")
            }
        }
    }
#endif
