#if SystemDiscovery || canImport(Darwin)
    import Testing

    @testable import MeshDiscovery

    struct ServiceDirectoryTests {
        private let place = ServicePlace(instance: "phone", domain: "local.", interfaceIndex: 2)
        private let other = ServicePlace(instance: "phone", domain: "local.", interfaceIndex: 3)
        private let six = IPAddress.v6(0xFE80_0000_0000_0000, 1)
        private let four = IPAddress.v4(0x0A00_0001)

        @Test("an instance is found once it has a port and an address, whichever comes first") func completeness() {
            for portFirst in [true, false] {
                var directory = ServiceDirectory()
                let isNew = directory.appeared(place)
                #expect(isNew)
                expect(&directory, [])
                if portFirst { directory.resolved(place, port: 1, attributes: []) }
                if !portFirst { directory.address(four, of: place, isThere: true) }
                expect(&directory, [])
                if !portFirst { directory.resolved(place, port: 1, attributes: []) }
                if portFirst { directory.address(four, of: place, isThere: true) }
                expect(&directory, [.found(service([(four, 2)]))])
                expect(&directory, [])
            }
        }

        @Test("what says nothing new is not told again") func repetition() {
            var directory = found()
            directory.resolved(place, port: 1, attributes: [])
            directory.address(four, of: place, isThere: true)
            expect(&directory, [])
        }

        @Test("addresses of all places are put together, IPv6 first, and go one by one") func addresses() {
            var directory = found()
            let isNew = directory.appeared(other)
            #expect(isNew)
            directory.resolved(other, port: 1, attributes: [])
            directory.address(six, of: other, isThere: true)
            expect(&directory, [.found(service([(six, 3), (four, 2)]))])
            directory.address(four, of: place, isThere: false)
            expect(&directory, [.found(service([(six, 3)]))])
            directory.forgetAddresses(of: other)
            expect(&directory, [.lost(instance: "phone")])
        }

        @Test("a place that was shown twice is gone when it was taken back twice") func appearances() {
            var directory = found()
            let isNew = directory.appeared(place)
            #expect(!isNew)
            let isGoneAtOnce = directory.disappeared(place)
            #expect(!isGoneAtOnce)
            expect(&directory, [])
            let isGone = directory.disappeared(place)
            #expect(isGone)
            expect(&directory, [.lost(instance: "phone")])
            let isGoneAgain = directory.disappeared(place)
            #expect(!isGoneAgain)
        }

        @Test("whichever place was resolved last says what port and attributes are") func newest() {
            var directory = found()
            _ = directory.appeared(other)
            directory.resolved(other, port: 9, attributes: [ServiceAttribute("a", "b")])
            guard case .found(let service) = directory.takeChanges().first else {
                Issue.record("nothing was found")
                return
            }
            #expect(service.port == 9)
            #expect(service.attributes == [ServiceAttribute("a", "b")])
        }

        @Test("an own name is not told, whatever its case; and is, once it is another's") func own() {
            var directory = found()
            directory.setOwn("PHONE")
            expect(&directory, [.lost(instance: "phone")])
            directory.setOwn("phone (2)")
            expect(&directory, [.found(service([(four, 2)]))])
        }

        @Test("a flood of places, and of addresses, is bounded and counted") func bounds() {
            var directory = ServiceDirectory()
            for number in 0..<1000 as Range<UInt32> {
                let place = ServicePlace(instance: "\(number)", domain: "local.", interfaceIndex: 1)
                let isNew = directory.appeared(place)
                #expect(isNew == (number < UInt32(ServiceDirectory.placesMax)))
                for ip in 0..<100 as Range<UInt32> { directory.address(.v4(ip), of: place, isThere: true) }
                directory.resolved(place, port: 1, attributes: [])
            }
            let changes = directory.takeChanges()
            #expect(changes.count == ServiceDirectory.placesMax)
            for case .found(let service) in changes {
                #expect(service.addresses.count == ServiceDirectory.addressesMax)
            }
            let places = 1000 - ServiceDirectory.placesMax
            let addresses = (100 - ServiceDirectory.addressesMax) * ServiceDirectory.placesMax
            let droppedCount = directory.takeDroppedCount()
            #expect(droppedCount == UInt64(places + addresses))
        }

        @Test("when the responder goes everything is lost, and what it says later is heard") func removeAll() {
            var directory = found()
            directory.removeAll()
            expect(&directory, [.lost(instance: "phone")])
            directory.resolved(place, port: 1, attributes: [])
            expect(&directory, [])
            let isNewAgain = directory.appeared(place)
            #expect(isNewAgain)
        }

        private func expect(
            _ directory: inout ServiceDirectory, _ changes: [ServiceDirectory.Change],
            at location: SourceLocation = #_sourceLocation
        ) {
            let told = directory.takeChanges()
            #expect(told == changes, sourceLocation: location)
        }

        private func found() -> ServiceDirectory {
            var directory = ServiceDirectory()
            _ = directory.appeared(place)
            directory.resolved(place, port: 1, attributes: [])
            directory.address(four, of: place, isThere: true)
            _ = directory.takeChanges()
            return directory
        }

        private func service(_ addresses: [(IPAddress, UInt32)]) -> FoundService {
            FoundService(
                instance: "phone", port: 1,
                addresses: addresses.map { ServiceAddress(ip: $0.0, interfaceIndex: $0.1) }, attributes: [])
        }
    }

    struct SystemTextRecordTests {
        @Test("attributes survive their record") func roundTrip() {
            let attributes = [
                ServiceAttribute("v", "1"), ServiceAttribute("empty", ""), ServiceAttribute("alone", nil),
                ServiceAttribute("bytes", [0, 61, 255]),
            ]
            #expect(SystemTextRecord.decode(SystemTextRecord.encode(attributes)) == attributes)
            #expect(SystemTextRecord.encode([]) == [0])
            #expect(SystemTextRecord.decode([0]) == [])
        }

        @Test("a record that is cut anywhere gives what is whole") func cut() {
            let bytes = SystemTextRecord.encode([ServiceAttribute("a", "1"), ServiceAttribute("b", "2")])
            for length in 0..<bytes.count {
                let attributes = SystemTextRecord.decode(Array(bytes.prefix(length)))
                #expect(attributes.count == length / 4)
            }
        }

        @Test("strings without a key, or with an unprintable one, are left out") func strange() {
            #expect(SystemTextRecord.decode([2, 61, 65, 2, 7, 61, 1, 65]) == [ServiceAttribute("A", nil)])
        }

        @Test("what does not fit is known before it is announced") func limits() {
            func fits(_ instance: String, _ attributes: [ServiceAttribute] = []) -> Bool {
                SystemTextRecord.fits(ServiceAnnouncement(instance: instance, port: 1, attributes: attributes))
            }
            #expect(fits(String(repeating: "a", count: 63)))
            #expect(!fits(String(repeating: "a", count: 64)))
            #expect(!fits(""))
            #expect(!fits("a\0b"))
            #expect(fits("a", [ServiceAttribute("k", [UInt8](repeating: 0, count: 253))]))
            #expect(!fits("a", [ServiceAttribute("k", [UInt8](repeating: 0, count: 254))]))
            #expect(!fits("a", [ServiceAttribute("", "x")]))
            #expect(!fits("a", [ServiceAttribute("a=b", "x")]))
            #expect(!fits("a", (0..<6).map { ServiceAttribute("\($0)", [UInt8](repeating: 0, count: 250)) }))
        }

        @Test("another name tells the same, and fits a label") func alternatives() {
            #expect(SystemTextRecord.alternative(to: "phone", 2) == "phone (2)")
            let long = SystemTextRecord.alternative(to: String(repeating: "ü", count: 31), 10)
            #expect(long == String(repeating: "ü", count: 29) + " (10)")
        }
    }
#endif
